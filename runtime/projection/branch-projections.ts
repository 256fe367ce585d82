import { requireAdministrator } from '#runtime/access/policy.ts';
import { CommonTable, type Turn } from '#runtime/commit/behaviour.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { invalid, isDamage, ServiceError } from '#runtime/errors/service-error.ts';
import type { BranchConsumers } from '#runtime/feed/branch-consumers.ts';
import type { FeedConsumer } from '#runtime/feed/consumer.ts';
import {
  readConsumer,
  removeConsumer,
  type StoredConsumer,
  writeConsumer,
} from '#runtime/feed/consumer-store.ts';
import type { ConsumeFeed, ConsumerStep } from '#runtime/feed/feed-messages.ts';
import { hasRow } from '#runtime/shard/has-row.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { HEAD_KEY, readBranchHead } from '#runtime/tree/revision-store.ts';
import { ProjectionConsumer } from './projection-consumer.ts';
import type { BuildProjection, DropProjection, ProjectionStatus } from './projection-messages.ts';
import { removeProjectionRows } from './projection-rows.ts';
import { type ProjectionState, projectionState, stateJson } from './projection-state.ts';

/** Rows that one command removes. */
const ROWS_PER_DROP = 2_000;

const none: ProjectionStatus = Object.freeze({
  state: 'none',
  revision: null,
  lag: null,
  progress: null,
  failure: null,
});

/**
 * What a branch does for its projections; it keeps nothing between messages. A projection is a consumer of the feed whose
 * rows can be made anew at any time. So whatever it cannot take in by following, it takes in by a build: entries that are
 * lost, a state that is damaged, more changes than fit into a commit, a definition of another version.
 *
 * @see projection.ts, projection-messages.ts
 */
export class BranchProjections {
  readonly #consumers: BranchConsumers;
  readonly #known: ReadonlyMap<string, ProjectionConsumer>;

  /** @param known the consumers of the branch, of which some are projections */
  constructor(consumers: BranchConsumers, known: readonly FeedConsumer[]) {
    this.#consumers = consumers;
    const projections = known.filter((consumer) => consumer instanceof ProjectionConsumer);
    this.#known = new Map(projections.map((projection) => [projection.name, projection]));
  }

  /** The next step of any consumer with effects in the shard. */
  *consume(turn: Turn, command: ConsumeFeed): Generator<undefined, ConsumerStep> {
    const known = this.#known.get(command.name);
    // While it is being restored a branch has no head, and some of its rows.
    const isWhole = hasRow(turn, CommonTable.meta, HEAD_KEY);
    const stored = known === undefined || !isWhole ? undefined : readConsumer(turn, command.name);
    if (known === undefined || stored === undefined) return yield* this.#consumers.consume(turn, command);
    const { version } = known.projection;
    const state = projectionState(stored.state);
    if (state !== undefined && state.version !== version) writeConsumer(turn, anew(stored));
    try {
      return yield* this.#consumers.consume(turn, command);
    } catch (error) {
      if (!isLasting(error)) throw error;
      yield* turn.undoInSteps();
      return fail(turn, stored, state ?? { version, revision: null }, error.message);
    }
  }

  build(turn: Turn, { name }: BuildProjection): void {
    requireAdministrator(turn.caller.policy, turn.caller.principal);
    this.#require(name);
    writeConsumer(turn, anew({ name, effects: 'shard', position: undefined, state: null }));
  }

  /** Nothing is read from rows without a position, so they may be removed later or not at all. */
  *drop(turn: Turn, { name }: DropProjection): Generator<undefined, boolean> {
    requireAdministrator(turn.caller.policy, turn.caller.principal);
    this.#require(name);
    if (readConsumer(turn, name) !== undefined) removeConsumer(turn, name);
    return (yield* removeProjectionRows(turn, name, ROWS_PER_DROP)) < ROWS_PER_DROP;
  }

  /**
   * Takes the projections of a branch out of a copy of it that becomes a fork: those whose rows are those of the head.
   *
   * @returns puts them into the feed of the fork, which begins with that state
   */
  carried(turn: Turn): (first: number) => void {
    const carried = [...this.#known.keys()].flatMap((name) => {
      const stored = readConsumer(turn, name);
      const { lag, revision, state } = this.status(turn, name);
      return stored !== undefined && state === 'following' && lag === 0 && revision !== null ? [stored] : [];
    });
    return (first) => {
      for (const stored of carried)
        writeConsumer(turn, { ...stored, position: { sequence: first, parts: 0 } });
    };
  }

  /** How far a projection is. @throws {ServiceError} `VALIDATION_FAILED` for one that this version does not know */
  status(reader: TableReader, name: string): ProjectionStatus {
    const { version } = this.#require(name).projection;
    const stored = readConsumer(reader, name);
    if (stored === undefined) return none;
    const state = projectionState(stored.state);
    const { feed } = readBranchHead(reader);
    const sequence = stored.position?.sequence;
    const isKnown = sequence !== undefined && sequence >= feed.first - 1 && sequence <= feed.last;
    if (state !== undefined && state.version === version && state.build === undefined && isKnown) {
      const lag = feed.last - sequence;
      return { state: 'following', revision: state.revision, lag, progress: null, failure: null };
    }
    const failure = state?.failure ?? null;
    const { nodes, total } = state?.build ?? { nodes: 0, total: 1 };
    const progress = total === 0 ? 1 : Math.min(nodes / total, 1);
    return { state: failure === null ? 'building' : 'failed', revision: null, lag: null, progress, failure };
  }

  /** @throws {ServiceError} `VALIDATION_FAILED` for a projection that this version does not know */
  #require(name: string): ProjectionConsumer {
    const known = this.#known.get(name);
    if (known === undefined) throw invalid(`There is no projection '${name}'`);
    return known;
  }
}

/** Without a position: the next step begins a build at the head. */
function anew({ effects, name }: StoredConsumer): StoredConsumer {
  return { name, effects, position: undefined, state: null };
}

/** Whether a step would fail again. */
function isLasting(error: unknown): error is ServiceError {
  return isDamage(error) || (error instanceof ServiceError && error.code === 'COMMIT_TOO_LARGE');
}

/** After a failed step: one that followed is replaced by a build; one of a build is repeated later. */
function fail(turn: Turn, stored: StoredConsumer, state: ProjectionState, failure: string): ConsumerStep {
  const isBuild = stored.position === undefined || stored.start !== undefined;
  if (!isBuild) {
    writeConsumer(turn, anew(stored));
    return { isRegistered: true, items: 0, isComplete: false };
  }
  const next: JsonValue = stateJson({ ...state, failure });
  if (state.failure !== failure) writeConsumer(turn, { ...stored, state: next });
  // Nothing more until the branch is written or read again.
  return { isRegistered: true, items: 0, isComplete: true };
}
