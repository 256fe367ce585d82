import { rm } from 'node:fs/promises';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { CheckFinding, CheckInfo, Checks } from '#protocols/rest/management/check-ports.ts';
import { COPY_FILE } from '#runtime/actor/copies/actor-copies.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import { realFileSystem } from '#runtime/base/files/file-system.ts';
import { type Random, uuidV7 } from '#runtime/base/random.ts';
import type { SlicedWork, SliceScheduler } from '#runtime/base/event-loop/slice-scheduler.ts';
import { FileBlobs } from '#runtime/embedded/file-blobs.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { SpaceGuard } from '#runtime/space/space-gate.ts';
import type { Log } from '#runtime/telemetry/log-context.ts';
import { checkBlobs } from './check-blobs.ts';
import type { CheckResults } from './check-results.ts';
import { checkShard } from './check-shard.ts';
import type { OwnShard, OwnShards } from './own-shards.ts';

/** Maximum number of findings that are kept of one check. */
const DAMAGE_MAX = 1_000;

/** Number of finished checks that are remembered. */
const CHECKS_KEPT = 8;

/** Dependencies of a member's checks. */
export interface MemberChecksEnvironment {
  readonly dataDir: string;
  /** The shards to check. */
  readonly shards: OwnShards;
  readonly slices: SliceScheduler;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Decides whether there is space for a copy of a shard. */
  readonly space: SpaceGuard;
  /** Keeps the results of complete checks. */
  readonly results: Pick<CheckResults, 'note'>;
}

/** Outcome of a check. */
type CheckOutcome = Pick<CheckInfo, 'state'> & Partial<Pick<CheckInfo, 'error'>>;

const FAILED = 'The check failed; the log has more';

type Changing<T> = { -readonly [Name in keyof T]: T[Name] };

/**
 * Verifies the shards of a running member, one after the other, at the lowest priority. Each is copied as of one
 * moment, as for a backup, and the copy is read page by page without LMDB. So damage cannot end the process, and no
 * reader keeps pages from being reused by writers.
 */
export class MemberChecks implements Checks {
  readonly #environment: MemberChecksEnvironment;
  readonly #checks = new Map<string, Changing<CheckInfo>>();
  #running: { readonly id: string; readonly stop: AbortController; readonly done: Promise<void> } | undefined;
  #isClosed = false;

  constructor(environment: MemberChecksEnvironment) {
    this.#environment = environment;
  }

  async start(): Promise<CheckInfo> {
    const { clock, random, space } = this.#environment;
    if (this.#isClosed) throw new ServiceError('SHUTTING_DOWN');
    if (this.#running !== undefined)
      throw new ServiceError('CONFLICT', `Check '${this.#running.id}' is running; wait until it is over`);
    const refusal = space.refusal('grows');
    if (refusal !== undefined) throw refusal;
    const id = uuidV7(clock.wallMs(), random);
    const stop = new AbortController();
    const over = Promise.withResolvers<void>();
    this.#running = { id, stop, done: over.promise };
    const check: Changing<CheckInfo> = {
      id,
      state: 'running',
      startedAt: this.#now(),
      finishedAt: undefined,
      actors: 0,
      actorsTotal: 0,
      bytes: 0,
      current: undefined,
      damage: [],
      damageTotal: 0,
      partitionsSkipped: [],
      error: undefined,
    };
    this.#checks.set(id, check);
    for (const known of [...this.#checks.keys()].slice(0, -CHECKS_KEPT)) this.#checks.delete(known);
    void this.#run(check, stop.signal).then((outcome) => {
      // In one step: a client that reads that a check is over may start the next one.
      Object.assign(check, outcome, { current: undefined, finishedAt: this.#now() });
      this.#running = undefined;
      if (check.state === 'done') this.#keep(check);
      over.resolve();
    });
    return check;
  }

  find(id: string): CheckInfo | undefined {
    return this.#checks.get(id);
  }

  stop(id: string): CheckInfo | undefined {
    if (this.#running?.id === id) this.#running.stop.abort();
    return this.#checks.get(id);
  }

  /** Cancels the running check and waits until nothing of it is left. No check starts any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#running?.stop.abort();
    await this.#running?.done;
  }

  /** Resolves with the outcome when nothing of the check is left. Never rejects. */
  async #run(check: Changing<CheckInfo>, signal: AbortSignal): Promise<CheckOutcome> {
    const { log } = this.#environment;
    log.info('check begins', { check: check.id });
    try {
      await this.#checkAll(check, signal);
      await this.#removeCopy();
    } catch (error) {
      log.error('check failed', { check: check.id, error });
      await this.#removeCopy().catch((left: unknown) =>
        log.warn('temporary copy of a check could not be removed', { error: left }),
      );
      const known = error instanceof ServiceError ? error : new ServiceError('INTERNAL_SERVER_ERROR', FAILED);
      return { state: 'failed', error: { code: known.code, message: known.message } };
    }
    log.info('check is done', {
      check: check.id,
      actors: check.actors,
      damage: check.damageTotal,
      partitionsSkipped: check.partitionsSkipped,
    });
    return { state: 'done' };
  }

  async #checkAll(check: Changing<CheckInfo>, signal: AbortSignal): Promise<void> {
    const { partitionsSkipped, shards } = await this.#environment.shards.all();
    check.partitionsSkipped = partitionsSkipped;
    check.actorsTotal = shards.length;
    for (const shard of shards) {
      requireWanted(signal);
      check.current = shard.actor;
      if (await this.#check(check, shard, signal)) check.actors += 1;
      else skip(check, shard.partition);
    }
    await this.#checkFiles(check, signal);
  }

  /** Compares blobs with their hashes. */
  async #checkFiles(check: Changing<CheckInfo>, signal: AbortSignal): Promise<void> {
    const { clock, dataDir, random } = this.#environment;
    const folder = join(dataDir, 'blobs');
    const blobs = FileBlobs.reading({ folder, files: realFileSystem, clock, random });
    const slice = this.#slice(signal);
    check.current = 'files by their hash';
    await checkBlobs(blobs, {
      onDamage: (hash, what) => this.#note(check, { file: blobs.pathOf(hash), actor: '', table: '', what }),
      rest: async (bytes) => {
        check.bytes += bytes;
        requireWanted(signal);
        await slice.pause();
      },
    });
  }

  #keep(check: CheckInfo): void {
    const { log, results } = this.#environment;
    results.note(check).catch((error: unknown) => {
      log.warn('result of a check could not be written', { check: check.id, error });
    });
  }

  #slice(signal: AbortSignal): SlicedWork {
    return this.#environment.slices.begin('background', {
      sliceKey: 'check',
      requireWaiting: () => requireWanted(signal),
    });
  }

  async #removeCopy(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** @returns false when another member has it now, and it was not read */
  async #check(check: Changing<CheckInfo>, shard: OwnShard, signal: AbortSignal): Promise<boolean> {
    const { actor, file, tableNames } = shard;
    const path = join(this.#folder, COPY_FILE);
    await this.#removeCopy();
    try {
      await shard.copy(this.#folder, signal);
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'NOT_OWNER') return false;
      // Removed meanwhile.
      if (error instanceof ServiceError && error.code === 'NOT_FOUND') return true;
      if (!(error instanceof ServiceError) || error.code !== 'DATA_CORRUPTED') throw error;
      this.#note(check, { file, actor, table: '', what: error.message });
      shard.damaged();
      return true;
    }
    const slice = this.#slice(signal);
    const work = checkShard({ actor, path, tableNames, lastSequence: undefined });
    for (;;) {
      const step = work.next();
      if (step.done === true) {
        for (const { table = '', what } of step.value) this.#note(check, { file, actor, table, what });
        if (step.value.length > 0) shard.damaged();
        break;
      }
      await slice.pause();
    }
    check.bytes += statSync(path).size;
    return true;
  }

  #note(check: Changing<CheckInfo>, finding: CheckFinding): void {
    check.damageTotal += 1;
    if (check.damage.length < DAMAGE_MAX) check.damage = [...check.damage, finding];
    this.#environment.log.error('verification of stored data failed', { check: check.id, ...finding });
  }

  /** Folder of the copy that is verified; the next check removes the remains of an ended process. */
  get #folder(): string {
    return join(this.#environment.dataDir, 'check');
  }

  #now(): string {
    return new Date(this.#environment.clock.wallMs()).toISOString();
  }
}

/** Records that a partition was not read completely. */
function skip(check: Changing<CheckInfo>, partition: number | undefined): void {
  if (partition === undefined || check.partitionsSkipped.includes(partition)) return;
  check.partitionsSkipped = [...check.partitionsSkipped, partition].sort((a, b) => a - b);
}

function requireWanted(signal: AbortSignal): void {
  if (signal.aborted) throw new ServiceError('REQUEST_CANCELLED', 'The check was given up');
}
