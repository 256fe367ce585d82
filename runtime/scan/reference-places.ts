import { Buffer } from 'node:buffer';
import { eachReference } from '#runtime/content/values/references.ts';
import { bytesText, END, textBytes } from '#runtime/shard/binary-key.ts';
import { BranchTable, underParts } from '#runtime/shard/key-layout.ts';
import type { Range, TableReader } from '#runtime/shard/shard.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import type { IndexedSource } from './indexed-source.ts';
import type { Moment } from './moment.ts';
import { NodePlaces } from './node-places.ts';
import type { PartBounds, Place, PlacePart, PlaceSource } from './places.ts';
import { behind } from './united-keys.ts';

/** Rows of one node that are stepped over before the next node is looked up. */
const STEPPED_ROWS = 4;

/** How a node refers to another one. */
type ReferenceKind = 'property' | 'relation';

const everyKind: readonly ReferenceKind[] = ['property', 'relation'];

/** The nodes of a workspace that refer to a node, which may be in another one. */
export interface ReferenceSource {
  readonly kind: 'references';
  readonly workspace: string;
  readonly target: { readonly workspace: string; readonly id: string };
  /** Only references in properties, or only relations; absent: both. */
  readonly by?: ReferenceKind | undefined;
}

/** The nodes that have rows in the table of references under a node, each once. The position is the id as bytes. */
export class ReferencePlaces implements IndexedSource {
  readonly rows: PlaceSource;
  readonly #moment: Moment;
  readonly #source: ReferenceSource;
  readonly #kinds: readonly ReferenceKind[];
  /** The id of the target as it is in the JSON text of a record: most nodes are judged without decoding them. */
  readonly #mark: Buffer;

  constructor(moment: Moment, source: ReferenceSource) {
    this.#moment = moment;
    this.#source = source;
    this.#kinds = source.by === undefined ? everyKind : [source.by];
    this.#mark = Buffer.from(JSON.stringify(source.target.id).slice(1, -1));
    this.rows = { part: (bounds) => this.#part(bounds) };
  }

  get workspace(): string {
    return this.#source.workspace;
  }

  hasAll(): boolean {
    return true;
  }

  *positionOf(record: NodeRecord): Generator<undefined, string | undefined> {
    return (yield* this.#refers(record)) ? textBytes(record.id) : undefined;
  }

  withoutTable(): PlaceSource {
    const nodes = new NodePlaces(this.#moment, this.#source.workspace);
    return { part: (bounds) => nodes.part(bounds), has: (record) => this.#refers(record) };
  }

  *#refers(record: NodeRecord): Generator<undefined, boolean> {
    const { id, workspace } = this.#source.target;
    if (!record.bytes.includes(this.#mark)) return false;
    const isRelated = ({ target, workspace: other }: { target: string; workspace: string }): boolean =>
      target === id && other === workspace;
    if (this.#kinds.includes('relation') && record.hasRelations && record.header.relations.some(isRelated))
      return true;
    if (!this.#kinds.includes('property')) return false;
    yield* record.prepareIndexed();
    for (const found of eachReference(record.indexedProperties([]))) {
      if (found === undefined) yield undefined;
      else if (found.ref === id && (found.workspace ?? this.#source.workspace) === workspace) return true;
    }
    return false;
  }

  *#part({ after, most, reverse }: PartBounds): Generator<undefined, PlacePart> {
    const { target, workspace } = this.#source;
    const { reader } = this.#moment;
    const ids = new Set<string>();
    // A node that refers in both ways is once in each list: so many of each are enough.
    for (const kind of this.#kinds) {
      const range = { ...underParts(target.workspace, textBytes(target.id), kind, workspace), reverse };
      let found = 0;
      for (const id of distinctIds(reader, range, after)) {
        ids.add(id);
        found += 1;
        if (found === most) break;
      }
    }
    const sorted = [...ids].sort((a, b) => (a < b === reverse ? 1 : -1)).slice(0, most);
    const places: Place[] = sorted.map((position) => ({ position, id: bytesText(position) }));
    return places.length < most ? { places } : { places, next: sorted.at(-1) as string };
  }
}

/** The ids in keys that begin with an id, each once. @param after only those behind it */
function* distinctIds(reader: TableReader, all: Range, after: string | undefined): Generator<string, void> {
  const { length } = all.start;
  let rest: Range | undefined = after === undefined ? all : behind(all, all.start + after);
  while (rest !== undefined) {
    let last: string | undefined;
    let stepped = 0;
    const rows = reader.range(BranchTable.references, rest);
    rest = undefined;
    for (const { key } of rows) {
      const id = key.slice(length, key.indexOf(END, length));
      if (id !== last) {
        yield id;
        last = id;
        stepped = 0;
        continue;
      }
      stepped += 1;
      if (stepped < STEPPED_ROWS) continue;
      rest = behind(all, all.start + id);
      break;
    }
  }
}
