/** Format number of a node record. Older formats stay readable; a newer one is refused. */
export const NODE_RECORD_FORMAT = 1;

/**
 * Layout, numbers big endian:
 *
 * | Bytes | What |
 * |---|---|
 * | 1 | format |
 * | 4 | CRC-32 of everything behind it |
 * | 4 | number of properties |
 * | 4 × 4 | ends of the parts *front*, *middle*, *back* in the text, start of the properties in it |
 * | 1 + n | length and name of the node type |
 * | 8 each | per property: where its key and its value end, counted from the start of the properties |
 * | rest | the text: front, middle, back, then the *inner* fields |
 *
 * The first three parts are the JSON of the node object as a read answers it, with gaps for what is derived:
 * `front` ends behind the last property, `middle` is parent and order key, `back` everything else. A read
 * copies them into its answer without decoding. `inner` is a JSON array of what only the engine knows.
 *
 * JSON rather than MessagePack: answers over REST are made of stored bytes, lone surrogates and `__proto__`
 * survive, and V8 parses it faster than any decoder written in JavaScript. The table lets a scan decode one
 * property.
 *
 * @see docs/decisions/0005-json-property-values.md
 */
export const CRC_AT = 1;

/** Where the bytes begin that the checksum covers. */
export const CHECKED_FROM = 5;

/** Place of the number of properties. */
export const COUNT_AT = 5;

/** Place of the end of *front* and the properties in it. */
export const FRONT_END_AT = 9;

/** Place of the end of *middle*. */
export const MIDDLE_END_AT = 13;

/** Place of the end of *back*. */
export const BACK_END_AT = 17;

/** Place of the start of the properties. */
export const PROPERTIES_AT = 21;

/** Place of the length of the node type. */
export const TYPE_LENGTH_AT = 25;

/** Place of the node type. */
export const TYPE_AT = 26;

/** Bytes of a property in the table. */
export const TABLE_ENTRY_BYTES = 8;
