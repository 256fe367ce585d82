import { Buffer } from 'node:buffer';
import { TextBytes } from '#runtime/base/text/text-bytes.ts';
import type { RecordParts } from './record-parts.ts';

/** What is between the properties and the stored fields of a node object: it is the same for all nodes of a type. */
export class AddedFields {
  readonly #ofParent: Buffer;
  readonly #ofLeaf: Buffer;

  /** @param typeText `"$supertypes":[…],"$mixins":[…]` */
  constructor(workspace: string, typeText: string) {
    const textOf = (hasChildren: boolean): Buffer =>
      Buffer.from(`${typeText}},"has_children":${hasChildren},"workspace":"${workspace}",`);
    this.#ofParent = textOf(true);
    this.#ofLeaf = textOf(false);
  }

  /** As UTF-8. */
  bytes(hasChildren: boolean): Buffer {
    return hasChildren ? this.#ofParent : this.#ofLeaf;
  }
}

/**
 * Adds a node object to a text, whose stored fields are answered as they are: as `renderRecord` makes it of the same fields,
 * without decoding the stored ones.
 *
 * @param isShown whether a property is answered; absent: all are. Of a node with translations it has to be absent
 */
export function writeRecord(
  record: RecordParts,
  added: AddedFields,
  hasChildren: boolean,
  text: TextBytes,
  isShown?: (name: string) => boolean,
): void {
  const { bytes, layout } = record;
  let isEmpty = record.count === 0;
  if (isShown === undefined) text.copy(bytes, record.frontAt, record.propertiesEnd);
  else {
    text.copy(bytes, record.frontAt, record.propertiesAt);
    const stretches = record.stretchesOf(isShown);
    isEmpty = stretches.length === 0;
    for (let index = 0; index < stretches.length; index += 2) {
      if (index > 0) text.add(',');
      text.copy(bytes, stretches[index], stretches[index + 1]);
    }
  }
  if (!isEmpty) text.add(',');
  text.copy(added.bytes(hasChildren));
  layout.writeFields(bytes, text);
  text.add('}');
}

/** Most bytes of a node object besides its stored fields and {@link AddedFields}: commas, braces, fields that are null. */
const FRAME_BYTES = 64;

/** As {@link writeRecord}, the node object alone. */
export function recordText(
  record: RecordParts,
  added: AddedFields,
  hasChildren: boolean,
  isShown?: (name: string) => boolean,
): Uint8Array {
  const bytesMax = record.bytes.length + added.bytes(hasChildren).length + FRAME_BYTES;
  const text = new TextBytes(bytesMax, true);
  writeRecord(record, added, hasChildren, text, isShown);
  return text.end();
}
