import { bytesText, END, NAME_PART_BYTES, textBytes } from '#runtime/shard/binary-key.ts';
import { decodeJsonRow, encodeJsonRow } from '#runtime/shard/json-row.ts';
import type { Range } from '#runtime/shard/shard.ts';

/*
 * The rows of the statistics of a branch. Each has the sums of some numbers over all nodes of a type in a workspace, and
 * disappears when they are zero. So the numbers of a node can be added and taken away.
 *
 * | Key | Numbers |
 * |---|---|
 * | workspace·type·`nodes` | see {@link nodeNumbers} |
 * | workspace·type·`archetypes`·archetype | nodes |
 * | workspace·type·`days`·day | nodes whose present state was written on that day |
 * | workspace·type·`locales`·locale | nodes with a translation |
 * | workspace·type·`properties`·name | nodes with a value of each kind, in the order of `jsonKinds` |
 * | workspace·type·`relations`·kind | relations |
 */

/** Numbers of a type in a workspace. */
export const nodeNumbers = ['nodes', 'published', 'versions', 'propertyBytes', 'notListed'] as const;

/** A group of rows of a type. */
export type Facet = 'archetypes' | 'days' | 'locales' | 'properties' | 'relations';

/** A row, with the parts of its key. */
export interface StatisticsRow {
  readonly workspace: string;
  readonly nodeType: string;
  readonly facet: Facet | 'nodes';
  /** Empty for `nodes`. */
  readonly name: string;
  readonly numbers: readonly number[];
}

/** Whether a name can be part of a key. Longer ones are not listed. */
export function isListed(name: string): boolean {
  return name.length <= NAME_PART_BYTES && textBytes(name).length <= NAME_PART_BYTES;
}

/** Key of the row of a type. */
export function nodesKey(workspace: string, nodeType: string): string {
  return [workspace, nodeType, 'nodes'].join(END);
}

/** Key of a row of a facet. The name is the last part, because it may be any text. */
export function facetKey(workspace: string, nodeType: string, facet: Facet, name: string): string {
  return [workspace, nodeType, facet, textBytes(name)].join(END);
}

/** All rows of a workspace, or of all. */
export function statisticsRange(workspace?: string): Range {
  if (workspace === undefined) return { start: '', end: '\u00ff' };
  return { start: workspace + END, end: `${workspace}\u0001` };
}

/** The value of a row. */
export function encodeNumbers(numbers: readonly number[]): Uint8Array {
  return encodeJsonRow(numbers);
}

/** Reads {@link encodeNumbers}. @throws {ServiceError} `DATA_CORRUPTED` */
export function decodeNumbers(value: Uint8Array): readonly number[] {
  return decodeJsonRow(value) as readonly number[];
}

/** Reads a row. @throws {ServiceError} `DATA_CORRUPTED` */
export function decodeStatisticsRow(key: string, value: Uint8Array): StatisticsRow {
  const [workspace, nodeType, facet] = key.split(END, 3) as [string, string, Facet | 'nodes'];
  const name = bytesText(key.slice(workspace.length + nodeType.length + facet.length + 3 * END.length));
  return { workspace, nodeType, facet, name, numbers: decodeNumbers(value) };
}
