import { expect } from 'vitest';
import { policyFor } from '#runtime/access/policy.ts';
import type { Principal } from '#runtime/access/principal.ts';
import { atOnce } from '#runtime/base/event-loop/at-once.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { commonTableNames, type Turn } from '#runtime/commit/behaviour.ts';
import { HybridClock } from '#runtime/commit/hybrid-clock.ts';
import { Memtable } from '#runtime/commit/memtable.ts';
import { MemtableReader } from '#runtime/commit/memtable-reader.ts';
import { TurnScope } from '#runtime/commit/turn-scope.ts';
import type { Revision } from '#runtime/content/revision.ts';
import type { SchemaResolver } from '#runtime/content/resolution/schema-resolver.ts';
import { branchTableNames } from '#runtime/shard/key-layout.ts';
import { LmdbShard } from '#runtime/shard/lmdb-shard.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { nodesOfType } from '#runtime/scan/nodes-of-type.ts';
import { changeDetails } from '#runtime/tree/change-details.ts';
import { HeadNodeReader } from '#runtime/tree/node-reader.ts';
import type { NodeChange } from '#runtime/tree/revision-record.ts';
import { HeadRestorer } from '#runtime/tree/head-restorer.ts';
import { PastNodeReader } from '#runtime/tree/past-node-reader.ts';
import { readBranchHead, readChanges, writeBranchHead, writeRevision } from '#runtime/tree/revision-store.ts';
import { revisionsApart } from '#runtime/tree/revisions-apart.ts';
import { TreeWriter } from '#runtime/tree/tree-writer.ts';

const principal: Principal = { kind: 'system', tenant: 'acme' };
const caller = { principal, policy: policyFor(principal, 'acme') };

/** The tree under test, over a real shard with unapplied memtables on top. */
export class TreeUnderTest {
  readonly #shard: LmdbShard;
  readonly #clock: HybridClock;
  /** Moves on by itself, so that there are moments between two revisions. */
  #wallMs = 1_000_000;
  #memtables: readonly Memtable[] = [];
  #sequence = 0;
  readonly #types: () => SchemaResolver;

  /** @param types the types of all workspaces at present */
  constructor(folder: string, types: () => SchemaResolver) {
    this.#types = types;
    this.#shard = new LmdbShard(folder, [...commonTableNames, ...branchTableNames]);
    this.#clock = new HybridClock({ ...systemClock, wallMs: () => this.#wallMs });
  }

  get reader(): TableReader {
    return new MemtableReader(
      () => this.#memtables,
      () => this.#shard,
    );
  }

  /** Carries out one revision. When the change fails, nothing has happened. */
  commit(change: (writer: TreeWriter) => void): Revision {
    this.#wallMs += 10;
    const memtable = new Memtable();
    const before = this.#memtables;
    this.#memtables = [memtable, ...before];
    const turn = new TurnScope(caller, this.#wallMs, this.reader, memtable, this.#clock, systemRandom);
    const writer = new TreeWriter(turn, this.#types, { atOnceMax: 1, nodesOfType });
    try {
      change(writer);
    } catch (error) {
      this.#memtables = before;
      throw error;
    }
    const earlier = new MemtableReader(
      () => before,
      () => this.#shard,
    );
    this.#requireNet(writer.changes, new HeadNodeReader(earlier));
    writeRevision(turn, { actor: 'ada', message: 'step', isSystem: false }, writer.changes, []);
    return turn.revision;
  }

  /** Makes the state of an earlier or later revision the present one, as the command of a branch does. */
  moveHead(to: Revision): void {
    const memtable = new Memtable();
    this.#memtables = [memtable, ...this.#memtables];
    const turn = new TurnScope(caller, this.#wallMs, this.reader, memtable, this.#clock, systemRandom);
    const branchHead = readBranchHead(turn);
    const restorer = new HeadRestorer(turn, this.#types);
    const past = new PastNodeReader(turn, to);
    const nodes = new Map<string, NodeChange>();
    for (const { record } of revisionsApart(() => turn, branchHead.head, to))
      for (const change of readChanges(turn, record))
        nodes.set(`${change.workspace}\0${change.node_id}`, change);
    const moves = [...nodes.values()]
      .map((change) => atOnce(restorer.plan(past, change.workspace, change.node_id)))
      .filter((move) => move !== undefined);
    for (const move of moves) restorer.leave(move);
    for (const move of moves) restorer.enter(move);
    restorer.settleParents();
    writeBranchHead(turn, { ...branchHead, head: to });
  }

  /** Each change tells what is between the states before and after the revision, however often it wrote the node. */
  #requireNet(changes: readonly NodeChange[], before: HeadNodeReader): void {
    const after = new HeadNodeReader(this.reader);
    for (const { details, node_id: id, path, workspace } of changes) {
      const old = before.byId(workspace, id);
      const net = changeDetails(old, after.byId(workspace, id));
      expect(details).toMatchObject(net);
      expect(details?.pathBefore).toBe(
        old === undefined || old.header.path === path ? undefined : old.header.path,
      );
    }
  }

  /** Writes rows as another build would have. */
  rewrite(change: (turn: Turn) => void): void {
    const memtable = new Memtable();
    this.#memtables = [memtable, ...this.#memtables];
    change(new TurnScope(caller, this.#wallMs, this.reader, memtable, this.#clock, systemRandom));
  }

  /** Writes to LMDB what is pending. */
  async apply(): Promise<void> {
    const writes = this.#memtables.toReversed().flatMap((memtable) => memtable.writes());
    this.#sequence += 1;
    await this.#shard.apply(writes, { sequence: this.#sequence, clock: this.#clock.last }).committed;
    this.#memtables = [];
  }

  async close(): Promise<void> {
    await this.#shard.close();
  }
}
