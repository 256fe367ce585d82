import type { DecisionWork } from '#runtime/access/decision-work.ts';
import type { ReadableNode } from '#runtime/access/policy.ts';
import { pathName } from '#runtime/content/path.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { type RelationDirection, type Relations, tooLong } from '#runtime/rel/ports.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import type { RelationSearch } from './relation-search.ts';

/** What is the same for all nodes that one caller asks about. */
export interface AskingMeans {
  readonly search: RelationSearch;
  readonly work: DecisionWork;
}

/** A stored state of a node as permissions look at it. Each part is read when a condition asks for it. */
export class StoredNode implements ReadableNode {
  readonly workspace: string;
  readonly path: string;
  readonly #record: NodeRecord;
  readonly #asking: AskingMeans;

  /** @param path where the node is looked at, if that is another path than the stored one */
  constructor(workspace: string, record: NodeRecord, asking: AskingMeans, path: string = record.path) {
    this.workspace = workspace;
    this.path = path;
    this.#record = record;
    this.#asking = asking;
  }

  get id(): string {
    return this.#record.id;
  }

  get name(): string {
    return pathName(this.path);
  }

  get nodeType(): string {
    return this.#record.nodeType;
  }

  get createdBy(): string {
    return this.#record.createdBy;
  }

  get updatedBy(): string {
    return this.#record.updatedBy;
  }

  get ownerId(): string | null {
    return this.#record.ownerId;
  }

  get work(): DecisionWork {
    return this.#asking.work;
  }

  get relations(): Relations {
    const { search } = this.#asking;
    const asked = { workspace: this.workspace, id: this.id };
    const related = (
      from: string,
      to: string,
      types: readonly string[],
      depthMin: number,
      depthMax: number,
      direction: RelationDirection,
    ): boolean | undefined => search.related(asked, { from, to, types, depthMin, depthMax, direction });
    return { related };
  }

  property(name: string, lengthMax = Number.POSITIVE_INFINITY): JsonValue | undefined | typeof tooLong {
    const isLong = this.#record.bytes.length > lengthMax && this.#record.propertyTextBytes(name) > lengthMax;
    return isLong ? tooLong : this.#record.property(name);
  }
}

/** A stored node that is asked about in place: at the price of a row, and without its relations. */
export class PeekedNode extends StoredNode {
  readonly isInPlace = true;
}
