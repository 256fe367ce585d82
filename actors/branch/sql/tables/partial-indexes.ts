import { BranchTable, underParts } from '#runtime/shard/key-layout.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { decodeTypeCount, hasRows, type IndexFields } from '#runtime/tree/index-catalog.ts';

/** Most types with an index that not all types have: the rows of each are read on their own. */
const TYPES_WITH_MAX = 4;

/** Most types without an index of which all nodes are looked at besides. */
const TYPES_WITHOUT_MAX = 16;

/** The types of a workspace, where some have an index and others have not. */
export interface TypesOfIndex {
  /** Those of which all nodes have rows. */
  readonly having: readonly string[];
  /** Those of which no node has one. */
  readonly without: readonly string[];
}

/**
 * The indexes that some types of a workspace have, for rows of any type: a node of another type may have the property too, so all
 * nodes of these types are looked at besides. The cost grows with the number of types in the workspace.
 */
export class PartialIndexes {
  readonly names: readonly string[];
  readonly #types = new Map<string, TypesOfIndex>();

  constructor(reader: TableReader, workspace: string) {
    const types: (readonly [name: string, fields: IndexFields])[] = [];
    const range = underParts(workspace);
    for (const { key, value } of reader.range(BranchTable.counts, range))
      types.push([key.slice(range.start.length), decodeTypeCount(value).fields]);
    const declared = new Set(types.flatMap(([, fields]) => fields.properties));
    this.names = [...declared].filter((index) => this.#isUsable(index, types)).sort();
  }

  /** The types of an index that not all have; undefined: all have it. */
  typesOf(index: string): TypesOfIndex | undefined {
    return this.#types.get(index);
  }

  /** Whether each type has all of its nodes in an index, or none: a node must not be found twice. */
  #isUsable(index: string, types: readonly (readonly [name: string, fields: IndexFields])[]): boolean {
    const having = types.filter(([, fields]) => fields.properties.includes(index));
    if (having.length === types.length) return true;
    const others = types.filter(([, fields]) => !fields.properties.includes(index));
    if (having.length > TYPES_WITH_MAX || others.length > TYPES_WITHOUT_MAX) return false;
    if (others.some(([, fields]) => hasRows(fields, index))) return false;
    this.#types.set(index, {
      having: having.map(([name]) => name),
      without: others.map(([name]) => name),
    });
    return true;
  }
}
