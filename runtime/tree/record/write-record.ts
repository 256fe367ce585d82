import { Buffer } from 'node:buffer';
import type { TextBytes } from '#runtime/base/text/text-bytes.ts';
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
 * Adds a node object, whose stored fields are all answered as they are, to a text: as `renderRecord` makes it of the same
 * fields, without decoding the stored ones.
 */
export function writeRecord(
  record: RecordParts,
  added: AddedFields,
  hasChildren: boolean,
  text: TextBytes,
): void {
  const { bytes, layout } = record;
  text.copy(bytes, record.frontAt, record.propertiesEnd);
  if (record.count > 0) text.add(',');
  text.copy(added.bytes(hasChildren));
  layout.writeFields(bytes, text);
  text.add('}');
}
