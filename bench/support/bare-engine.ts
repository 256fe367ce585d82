import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { branchActor } from '#actors/branch/branch-actor.ts';
import { policyFor } from '#runtime/access/policy.ts';
import type { Principal } from '#runtime/access/principal.ts';
import { ActorHost, type HostLimits } from '#runtime/actor/host/actor-host.ts';
import { type Clock, systemClock } from '#runtime/base/time/clock.ts';
import { realFileSystem } from '#runtime/base/files/file-system.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { SliceScheduler } from '#runtime/base/event-loop/slice-scheduler.ts';
import type { ActorKind, Caller } from '#runtime/commit/behaviour.ts';
import { Journal } from '#runtime/embedded/journal/journal.ts';

const principal: Principal = { kind: 'system', tenant: 'default' };
const workspace = {
  name: 'content',
  allowed_node_types: [],
  allowed_root_node_types: [],
  config: { default_branch: 'main', node_type_pins: {} },
};
const languages = { defaultLanguage: 'en', supportedLanguages: ['en'], fallbackChains: {} };

/** A repository actor that only answers the queries of a branch. */
const repository: ActorKind = {
  kind: 'repository',
  tables: [],
  create: () => ({ execute: () => undefined, query: () => ({ workspace, languages }) }),
};

const defaultLimits: HostLimits = {
  commit: {
    mailboxMax: 4096,
    batchCommandsMax: 512,
    batchBytesMax: 4 << 20,
    applyPendingBytesMax: 64 << 20,
    idempotency: { ttlMs: 86_400_000, entriesMax: 1_000_000 },
  },
  apply: { applyBytes: 1 << 20, applyDelayMs: 50 },
  openActorsMax: 100,
  idleCloseMs: 300_000,
};

/** Options of a benchmark. */
export interface BareEngineSetup {
  readonly clock?: Clock;
  /** Kinds of actors besides branches. */
  readonly kinds?: readonly ActorKind[];
  readonly applyPendingBytesMax?: number;
  /** Nodes that one commit may change. */
  readonly commitNodesMax?: number;
  readonly apply?: HostLimits['apply'];
}

/** The engine without HTTP, with one branch of one repository in a new folder. */
export class BareEngine {
  readonly host: ActorHost;
  readonly caller: Caller = { principal, policy: policyFor(principal, 'default') };
  readonly branch = 'default/bench~1/main~1/branch';
  readonly #folder: string;
  readonly #journal: Journal;
  #closed: Promise<void> | undefined;

  private constructor(folder: string, journal: Journal, setup: BareEngineSetup) {
    const { apply = defaultLimits.apply, applyPendingBytesMax, clock = systemClock, kinds = [] } = setup;
    const { commitNodesMax = 100_000 } = setup;
    const commit = {
      ...defaultLimits.commit,
      ...(applyPendingBytesMax === undefined ? {} : { applyPendingBytesMax }),
    };
    this.#folder = folder;
    this.#journal = journal;
    this.host = new ActorHost({
      folder: join(folder, 'actors'),
      log: journal,
      clock,
      random: systemRandom,
      kinds: [branchActor({ commitNodesMax }), ...kinds, repository],
      slices: new SliceScheduler(clock),
      limits: { ...defaultLimits, commit, apply },
      observer: {
        batchDurable: () => {},
        events: () => {},
        stopped: console.error,
        applyFailed: console.error,
      },
    });
  }

  /** Opens the engine and creates the branch. */
  static async open(setup: BareEngineSetup = {}): Promise<BareEngine> {
    const folder = mkdtempSync(join(tmpdir(), 'grove-engine-'));
    const journal = await Journal.open({
      folder: join(folder, 'journal'),
      durability: 'local',
      files: realFileSystem,
      clock: setup.clock ?? systemClock,
      random: systemRandom,
      report: () => {},
    });
    const engine = new BareEngine(folder, journal, setup);
    await engine.host.create('default/bench~1/repository');
    await engine.host.create(engine.branch);
    return engine;
  }

  /** Sends a command to the branch. */
  command(message: object): Promise<unknown> {
    return this.host.command(this.branch, message, { caller: this.caller });
  }

  /** Closes the actors. Idempotent. */
  close(): Promise<void> {
    this.#closed ??= this.host.close();
    return this.#closed;
  }

  /** Closes the engine and removes its folder. */
  async remove(): Promise<void> {
    await this.close();
    await this.#journal.close();
    rmSync(this.#folder, { recursive: true });
  }
}
