import type { TextBytes } from '#runtime/base/text/text-bytes.ts';
import type { RecordParts } from './record-parts.ts';
import type { DerivedFields } from './render-record.ts';

/** Fields of a node object whose stored fields are all answered as they are. */
export interface AddedFields extends Pick<DerivedFields, 'workspace' | 'hasChildren'> {
  /** `"$supertypes":[…],"$mixins":[…]` */
  readonly typeText: string;
}

/** Adds the node object to a text: as `renderRecord` makes it of the same fields, without decoding the stored ones. */
export function writeRecord(record: RecordParts, derived: AddedFields, text: TextBytes): void {
  const { bytes, layout } = record;
  const { hasChildren, typeText, workspace } = derived;
  text.copy(bytes, record.frontAt, record.propertiesEnd);
  const comma = record.count === 0 ? '' : ',';
  text.add(`${comma}${typeText}},"has_children":${hasChildren},"workspace":"${workspace}",`);
  layout.writeFields(bytes, text);
  text.add('}');
}
