import { isDeepStrictEqual } from 'node:util';
import { KnownNames, shownField, unknownName } from '#runtime/errors/known-names.ts';
import { invalid, type ServiceError } from '#runtime/errors/service-error.ts';
import { missingField } from './body-fields.ts';
import { otherSpelling } from './other-spelling.ts';
import type { JsonSchema } from '../route.ts';

/**
 * Checks a body against the schema that documents it. Objects with `additionalProperties: false` are checked, with
 * their contents; everything else is left to the reader of the body. These keywords of JSON Schema are used:
 *
 * - `properties`, under both spellings and those that `x-aliases` lists; a body may have one of them;
 * - `readOnly` of a property: it is accepted and ignored, so that a client can send back what it read;
 * - `required`: a missing field is reported before an unknown one;
 * - `items`, and an `additionalProperties` that is a schema;
 * - `$ref` to a schema by its name; `oneOf` with a `discriminator`; `allOf` of one such schema and additional
 *   `required`.
 *
 * Built once for each route or command.
 */
export interface BodyShape {
  /**
   * Refuses the first unknown field, suggesting the nearest name; a field given in two spellings with different
   * values; and a body with read-only fields only, because its sender means to change them.
   *
   * @param body any value; wrong types are left to the reader of the body
   * @throws {ServiceError} `VALIDATION_FAILED`; `UNPROCESSABLE_BODY` when a required field is missing as well
   */
  refuseUnknown(body: unknown): void;
}

/** A part of a body. */
interface Part {
  /** Why a value is refused, if it is. The enclosing parts add its place, so that accepted values cost no place. */
  refusal(value: unknown): Refusal | undefined;
}

/** Why a body is refused, and where. Enclosing parts extend the places as the refusal is passed outwards. */
class Refusal {
  readonly #name: string;
  readonly #reason: RefusalReason;
  #place = '';
  /** The outermost object that lacks a required field. */
  #missing: { readonly name: string; place: string } | undefined;

  constructor(name: string, reason: RefusalReason) {
    this.#name = name;
    this.#reason = reason;
  }

  within(key: string | number): this {
    this.#place = placeIn(key, this.#place);
    if (this.#missing !== undefined) this.#missing.place = placeIn(key, this.#missing.place);
    return this;
  }

  /** A missing field is reported first. */
  besides(missing: string): this {
    this.#missing = { name: missing, place: '' };
    return this;
  }

  toError(): ServiceError {
    const error = this.#toError();
    if (this.#missing === undefined) return error;
    const { name, place } = this.#missing;
    return missingField(shownField(name, place), error.message);
  }

  #toError(): ServiceError {
    const reason = this.#reason;
    if (reason.is === 'unknown') return unknownName('field', this.#name, reason.known.names, this.#place);
    const field = shownField(this.#name, this.#place);
    if (reason.is === 'twice') {
      return invalid(`Field '${field}' is there as '${reason.other}' too, with another value`, { field });
    }
    const others = reason.known.names.join(', ');
    return invalid(`Field '${field}' is read-only; those that can be written are ${others}`, { field });
  }
}

/** What is wrong with a field. */
type RefusalReason =
  | { readonly is: 'unknown' | 'read-only'; readonly known: KnownNames }
  /** It is also present in another spelling. */
  | { readonly is: 'twice'; readonly other: string };

function nameIn(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1);
}

function placeIn(key: string | number, place: string): string {
  return place === '' ? String(key) : `${key}.${place}`;
}

/**
 * Builds the shape of a body.
 *
 * @param schema of the body
 * @param schemas that `$ref` names, by the last part of the reference
 * @returns undefined when the schema restricts nothing
 */
export function bodyShape(
  schema: JsonSchema,
  schemas: Readonly<Record<string, JsonSchema>> = {},
): BodyShape | undefined {
  const part = new ShapeReader(schemas).part(schema);
  if (part === undefined) return undefined;
  return {
    refuseUnknown(body) {
      const refused = part.refusal(body);
      if (refused !== undefined) throw refused.toError();
    },
  };
}

/** Fields that responses have and that bodies may have without effect. */
export function readOnly(
  properties: Readonly<Record<string, JsonSchema>>,
): Readonly<Record<string, JsonSchema>> {
  return Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, { ...schema, readOnly: true }]),
  );
}

class ShapeReader {
  readonly #schemas: Readonly<Record<string, JsonSchema>>;
  readonly #named = new Map<string, Part>();

  constructor(schemas: Readonly<Record<string, JsonSchema>>) {
    this.#schemas = schemas;
  }

  part(schema: JsonSchema): Part | undefined {
    const { $ref: reference, allOf, discriminator, items, oneOf, properties } = schema;
    if (typeof reference === 'string') return this.#referred(nameIn(reference));
    if (allOf !== undefined) return this.part(this.#merged(allOf as readonly JsonSchema[]));
    if (discriminator !== undefined) {
      const { propertyName } = discriminator as { readonly propertyName: string };
      return this.#variants(propertyName, oneOf as readonly JsonSchema[]);
    }
    if (items !== undefined) return this.#list(items as JsonSchema);
    if (properties === undefined) return this.#values(schema.additionalProperties);
    if (schema.additionalProperties !== false) return undefined;
    const required = (schema.required ?? []) as readonly string[];
    return this.#object(properties as Readonly<Record<string, JsonSchema>>, required);
  }

  /** Resolved lazily: a schema may refer to itself. */
  #referred(name: string): Part | undefined {
    const schema = this.#schemas[name];
    if (schema === undefined) return undefined;
    const known = this.#named.get(name);
    if (known !== undefined) return known;
    let read: Part | undefined;
    const part: Part = { refusal: (value) => read?.refusal(value) };
    this.#named.set(name, part);
    read = this.part(schema);
    return part;
  }

  #merged(schemas: readonly JsonSchema[]): JsonSchema {
    const whole = schemas.map((schema) => this.#resolved(schema));
    const required = whole.flatMap((schema) => (schema.required ?? []) as readonly string[]);
    return { ...Object.assign({}, ...whole), required };
  }

  #resolved({ $ref: reference, ...schema }: JsonSchema): JsonSchema {
    return { ...(typeof reference === 'string' ? this.#schemas[nameIn(reference)] : {}), ...schema };
  }

  #values(schema: unknown): Part | undefined {
    const value = typeof schema === 'object' && schema !== null ? this.part(schema as JsonSchema) : undefined;
    return value === undefined ? undefined : new ValuesPart(value);
  }

  #list(schema: JsonSchema): Part | undefined {
    const item = this.part(schema);
    return item === undefined ? undefined : new ListPart(item);
  }

  #variants(tag: string, schemas: readonly JsonSchema[]): Part {
    const parts = new Map<string, Part>();
    for (const schema of schemas) {
      const { properties } = this.#resolved(schema);
      const { [tag]: tagged } = properties as Readonly<Record<string, JsonSchema>>;
      const part = this.part(schema);
      const names = (tagged?.enum ?? [tagged?.const]) as readonly string[];
      if (part !== undefined) for (const name of names) parts.set(name, part);
    }
    return new VariantPart(tag, parts);
  }

  #object(properties: Readonly<Record<string, JsonSchema>>, required: readonly string[]): Part {
    const fields: Field[] = Object.entries(properties).map(([name, schema]) => {
      const aliases = (schema['x-aliases'] ?? []) as readonly string[];
      return {
        name,
        spellings: [...new Set([name, otherSpelling(name), ...aliases])],
        isReadOnly: schema.readOnly === true,
        isRequired: required.includes(name),
        part: this.part(schema),
      };
    });
    return new ObjectPart(fields);
  }
}

interface Field {
  readonly name: string;
  /** Every name under which it may be sent. */
  readonly spellings: readonly string[];
  readonly isReadOnly: boolean;
  readonly isRequired: boolean;
  readonly part: Part | undefined;
}

class ObjectPart implements Part {
  readonly #bySpelling: ReadonlyMap<string, Field>;
  readonly #required: readonly Field[];
  readonly #known: KnownNames;

  constructor(fields: readonly Field[]) {
    this.#bySpelling = new Map(fields.flatMap((field) => field.spellings.map((name) => [name, field])));
    this.#required = fields.filter((field) => field.isRequired);
    const counted = fields.filter((field) => !field.isReadOnly).map((field) => field.name);
    this.#known = new KnownNames(counted, [...this.#bySpelling.keys()]);
  }

  refusal(value: unknown): Refusal | undefined {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
    const body = value as Readonly<Record<string, unknown>>;
    let readOnly: string | undefined;
    let isChange = false;
    for (const key in body) {
      const field = this.#bySpelling.get(key);
      if (field === undefined) {
        return this.#refused(body, new Refusal(key, { is: 'unknown', known: this.#known }));
      }
      if (key !== field.name) {
        const other = otherIn(body, key, field);
        if (other !== undefined) return this.#refused(body, new Refusal(key, { is: 'twice', other }));
      }
      if (field.isReadOnly) readOnly ??= key;
      else isChange = true;
      const inner = field.part?.refusal(body[key]);
      if (inner !== undefined) return this.#refused(body, inner.within(key));
    }
    if (readOnly === undefined || isChange) return undefined;
    return this.#refused(body, new Refusal(readOnly, { is: 'read-only', known: this.#known }));
  }

  #refused(body: Readonly<Record<string, unknown>>, refusal: Refusal): Refusal {
    const missing = this.#required.find(
      ({ spellings }) => !spellings.some((spelling) => Object.hasOwn(body, spelling)),
    );
    return missing === undefined ? refusal : refusal.besides(missing.name);
  }
}

/** Another spelling of a field that the body also has, with a different value. */
function otherIn(
  body: Readonly<Record<string, unknown>>,
  key: string,
  { spellings }: Field,
): string | undefined {
  return spellings.find(
    (each) => each !== key && Object.hasOwn(body, each) && !isDeepStrictEqual(body[each], body[key]),
  );
}

class ListPart implements Part {
  readonly #item: Part;

  constructor(item: Part) {
    this.#item = item;
  }

  refusal(value: unknown): Refusal | undefined {
    if (!Array.isArray(value)) return undefined;
    for (let index = 0; index < value.length; index += 1) {
      const refused = this.#item.refusal(value[index]);
      if (refused !== undefined) return refused.within(index);
    }
    return undefined;
  }
}

/** An object with arbitrary keys. */
class ValuesPart implements Part {
  readonly #value: Part;

  constructor(value: Part) {
    this.#value = value;
  }

  refusal(value: unknown): Refusal | undefined {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
    const values = value as Readonly<Record<string, unknown>>;
    for (const key in values) {
      const refused = this.#value.refusal(values[key]);
      if (refused !== undefined) return refused.within(key);
    }
    return undefined;
  }
}

class VariantPart implements Part {
  readonly #tag: string;
  readonly #parts: ReadonlyMap<string, Part>;

  constructor(tag: string, parts: ReadonlyMap<string, Part>) {
    this.#tag = tag;
    this.#parts = parts;
  }

  refusal(value: unknown): Refusal | undefined {
    if (typeof value !== 'object' || value === null) return undefined;
    const tag = (value as Readonly<Record<string, unknown>>)[this.#tag];
    return typeof tag === 'string' ? this.#parts.get(tag)?.refusal(value) : undefined;
  }
}
