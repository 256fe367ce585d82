import { policyFor } from '#runtime/access/policy.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { CommonTable } from '#runtime/commit/behaviour.ts';
import { HybridClock } from '#runtime/commit/hybrid-clock.ts';
import { Memtable } from '#runtime/commit/memtable.ts';
import { MemtableReader } from '#runtime/commit/memtable-reader.ts';
import { TurnScope } from '#runtime/commit/turn-scope.ts';
import { formatRevision, parseRevision } from '#runtime/content/revision.ts';
import { readFeed } from '#runtime/feed/read-feed.ts';
import { decodeJsonRow, encodeJsonRow } from '#runtime/shard/json-row.ts';
import { MemoryDisk, MemoryShard } from '#runtime/shard/memory-shard.ts';
import type { NodeChange } from '#runtime/tree/revision-record.ts';
import {
  appendToFeed,
  readBranchHead,
  type RevisionFacts,
  writeBranchHead,
  writeRevision,
} from '#runtime/tree/revision-store.ts';
import { TestClock } from './test-clock.ts';

const principal = { kind: 'system', tenant: 't' } as const;
const caller = { principal, policy: policyFor(principal, 't') };
const facts: RevisionFacts = { actor: 'ada', message: 'step', isSystem: false };

/** The feed of a branch in memory, whose revisions are written as commands do. */
export class FeedBranch {
  readonly #clock = new TestClock();
  readonly #memtable = new Memtable();
  readonly #revisions = new HybridClock(this.#clock);
  readonly reader = new MemtableReader(
    () => [this.#memtable],
    () => this.#shard,
  );
  readonly #shard = new MemoryShard(new MemoryDisk(), 40, this.#clock);

  turn(): TurnScope {
    return new TurnScope(
      caller,
      this.#clock.wallMs(),
      this.reader,
      this.#memtable,
      this.#revisions,
      systemRandom,
    );
  }

  /** Writes a revision. @returns it */
  commit(changes: readonly NodeChange[] = [change(0)], more: Partial<RevisionFacts> = {}): string {
    const turn = this.turn();
    writeRevision(turn, { ...facts, ...more }, changes, []);
    return formatRevision(turn.revision);
  }

  get head(): string {
    return formatRevision(readBranchHead(this.reader).head);
  }

  /** Kinds and numbers of the entries after a position. */
  shown(after = 0, limit = 100): unknown {
    const { entries, ...rest } = readFeed(this.reader, after, limit);
    return { ...rest, entries: entries.map(({ kind, sequence }) => [sequence, kind]) };
  }

  /** Moves the head, as if content did not matter. */
  move(to: string): void {
    const turn = this.turn();
    const branchHead = readBranchHead(turn);
    writeBranchHead(turn, { ...branchHead, head: parseRevision(to) });
    appendToFeed(turn, branchHead.head, ['head_moved', to, formatRevision(branchHead.head)]);
  }

  /** Stores the head as a version without a feed does. */
  forgetFeed(): void {
    const [head, revisions, systemRevisions, tip] = decodeJsonRow(
      this.reader.get(CommonTable.meta, 'head') as Uint8Array,
    ) as unknown[];
    this.turn().put(CommonTable.meta, 'head', encodeJsonRow([head, revisions, systemRevisions, tip]));
  }
}

/** The creation of a node. */
export function change(number: number): NodeChange {
  return {
    node_id: `n${number}`,
    workspace: 'content',
    operation: 'added',
    path: `/n${number}`,
    node_type: 'svc:Page',
    details: { kinds: ['created'] },
  };
}
