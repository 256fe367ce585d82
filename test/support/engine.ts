import { join } from 'node:path';
import type { OpenRoom } from '#runtime/actor/host/open-room.ts';
import { ActorHost, type HostLimits, type HostObserver } from '#runtime/actor/host/actor-host.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import type { DirectoryKey } from '#runtime/actor/host/host-storage.ts';
import type { ActorId } from '#runtime/actor/ports.ts';
import { type Clock, systemClock } from '#runtime/base/time/clock.ts';
import { SliceScheduler } from '#runtime/base/event-loop/slice-scheduler.ts';
import { type FileSystem, realFileSystem } from '#runtime/base/files/file-system.ts';
import { systemRandom } from '#runtime/base/random.ts';
import type { ActorKind, Caller } from '#runtime/commit/behaviour.ts';
import { Journal } from '#runtime/embedded/journal/journal.ts';
import type { JournalDurability } from '#runtime/embedded/journal/journal-options.ts';
import type { SpaceGuard } from '#runtime/space/space-gate.ts';
import type { JournalEvent } from '#runtime/embedded/journal-events.ts';

const megabyte = 1024 * 1024;

/** The tenant tests belong to. */
export const TENANT = 'acme';

/** Who works with an engine under test. */
export const engineUser: Caller = engineCaller(TENANT);

/** Limits of an engine under test: large mailboxes, small and early applications. */
export const engineLimits: HostLimits = {
  commit: {
    mailboxMax: 100_000,
    batchCommandsMax: 512,
    batchBytesMax: 8 * megabyte,
    applyPendingBytesMax: 512 * megabyte,
    idempotency: { ttlMs: 3_600_000, entriesMax: 10_000 },
  },
  apply: { applyBytes: megabyte, applyDelayMs: 20 },
  openActorsMax: 100,
  idleCloseMs: 3_600_000,
};

/** How an engine is opened. */
export interface EngineSetup {
  readonly files?: FileSystem;
  readonly clock?: Clock;
  /** Folder of the journal; beside the actors when absent. */
  readonly journalFolder?: string;
  readonly segmentBytes?: number;
  /** When an append is acknowledged; `local` when absent. */
  readonly durability?: JournalDurability;
  /** Whether damage of the journal is contained. */
  readonly containsDamage?: boolean;
  readonly kinds: readonly ActorKind[];
  readonly limits?: Partial<HostLimits>;
  readonly removedKeepMs?: number;
  /** For open actors, with other engines. */
  readonly room?: OpenRoom;
  readonly space?: SpaceGuard;
  /** Told what happened in actors. */
  readonly events?: HostObserver['events'];
  /** Told which actors were opened. */
  readonly opened?: (actor: ActorId) => void;
  /** Actors without which nothing is opened. */
  readonly required?: readonly ActorId[];
  readonly key?: DirectoryKey;
}

/** A journal and an actor host over a folder, as a member assembles them. */
export class Engine {
  readonly folder: string;
  readonly journal: Journal;
  readonly host: ActorHost;
  readonly journalEvents: JournalEvent[];
  readonly stopped: unknown[] = [];
  readonly applyFailures: unknown[] = [];

  private constructor(folder: string, journal: Journal, events: JournalEvent[], setup: EngineSetup) {
    this.folder = folder;
    this.journal = journal;
    this.journalEvents = events;
    this.host = new ActorHost({
      folder: join(folder, 'actors'),
      log: journal,
      clock: setup.clock ?? systemClock,
      random: systemRandom,
      kinds: setup.kinds,
      limits: { ...engineLimits, ...setup.limits },
      ...(setup.removedKeepMs === undefined ? {} : { removedKeepMs: setup.removedKeepMs }),
      ...(setup.space === undefined ? {} : { space: setup.space }),
      ...(setup.room === undefined ? {} : { room: setup.room }),
      ...(setup.required === undefined ? {} : { required: setup.required }),
      ...(setup.key === undefined ? {} : { key: setup.key }),
      slices: new SliceScheduler(setup.clock ?? systemClock),
      observer: {
        batchDurable: () => {},
        events: setup.events ?? (() => {}),
        opened: (actor) => setup.opened?.(actor),
        stopped: (_actor, cause) => void this.stopped.push(cause),
        applyFailed: (_actor, cause) => void this.applyFailures.push(cause),
      },
    });
  }

  /** Opens the journal and brings the shards up to it. */
  static async open(folder: string, setup: EngineSetup): Promise<Engine> {
    const events: JournalEvent[] = [];
    const journal = await Journal.open({
      folder: setup.journalFolder ?? join(folder, 'journal'),
      durability: setup.durability ?? 'local',
      files: setup.files ?? realFileSystem,
      clock: setup.clock ?? systemClock,
      random: systemRandom,
      report: (event) => void events.push(event),
      containsDamage: setup.containsDamage === true,
      ...(setup.segmentBytes === undefined ? {} : { segmentBytes: setup.segmentBytes }),
    });
    const engine = new Engine(folder, journal, events, setup);
    try {
      await engine.host.recover();
      return engine;
    } catch (error) {
      await engine.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.host.close();
    await this.journal.close();
  }
}
