import { format1 } from './format-1.ts';
import { format2 } from './format-2.ts';
import type { RecordLayout } from './record-layout.ts';

/** Format of the node records that are written. Older formats stay readable; a newer one is refused. */
export const NODE_RECORD_FORMAT = 2;

const layouts: readonly (RecordLayout | undefined)[] = [undefined, format1, format2];

/** The layout of a format; undefined for one that this build does not know. */
export function layoutOf(format: number | undefined): RecordLayout | undefined {
  return format === undefined ? undefined : layouts[format];
}
