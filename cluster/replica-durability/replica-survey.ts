import { type Clock, sleep } from '#runtime/base/time/clock.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { isAhead, type ReplicaCheck, type ReplicaPosition } from '#cluster/replication/durability-gate.ts';
import { isMajority, type Voters } from './voters.ts';
import type { ReplicaStatus, ReplicaStatusChannel } from './replica-status.ts';

/** Time for which answers to one request are awaited, in milliseconds. */
const ASK_MS_MAX = 500;

/** Additional time for slower members when enough have answered, in milliseconds. */
const GRACE_MS = 100;

/** Dependencies of a survey. */
export interface ReplicaSurveyOptions {
  readonly partition: number;
  /** Name of this member. */
  readonly member: string;
  readonly statuses: ReplicaStatusChannel;
  /** Returns the number of other present members. */
  readonly others: () => number;
  /** Returns the voters according to this member's journal. */
  readonly voters: () => Voters | undefined;
  /**
   * In class `replica-disk` the request is repeated until a majority of the voters has answered. In another class the
   * answers that arrive in time are sufficient.
   */
  readonly needsMajority: boolean;
  readonly clock: Clock;
}

/** Answers of the replicas of a partition. */
export interface SurveyResult {
  /** The answers of other members. */
  readonly received: readonly ReplicaStatus[];
  /** Whether there are as many as the class requires. */
  readonly isEnough: boolean;
  /** The voters for the majority; undefined when they are unknown. */
  readonly voters: Voters | undefined;
}

/**
 * Asks the replicas of a partition for their positions: a stream that lost its end does not show that it did.
 *
 * A record that was acknowledged in class `replica-disk` is in the journals of a majority of the voters, so a
 * majority of answers includes one that has it. When no voters are known, at least one other member must answer.
 *
 * @see docs/partition-log.md#opening-a-partition
 */
export class ReplicaSurvey implements ReplicaCheck {
  readonly #options: ReplicaSurveyOptions;
  #learned: Voters | undefined;
  #missing: string | undefined;

  constructor(options: ReplicaSurveyOptions) {
    this.#options = options;
  }

  /** The voters according to the last answers. */
  get learned(): Voters | undefined {
    return this.#learned;
  }

  /** The members that did not answer the last request, for operators; undefined when the class needs no more. */
  get missingVoters(): string | undefined {
    return this.#missing;
  }

  /** @throws {ServiceError} `REQUEST_CANCELLED` when it was cancelled */
  async ask(
    position: Pick<ReplicaPosition, 'epoch' | 'sequence'>,
    signal: AbortSignal | undefined,
  ): Promise<readonly ReplicaPosition[]> {
    for (;;) {
      if (signal?.aborted === true) throw new ServiceError('REQUEST_CANCELLED');
      const { isEnough, received } = await this.once(position);
      if (isEnough || !this.#options.needsMajority) return received.filter(({ identity }) => identity !== '');
    }
  }

  /** Asks once. @param position of this member: members behind it may know older voters */
  async once(position: Pick<ReplicaPosition, 'epoch' | 'sequence'>): Promise<SurveyResult> {
    const { clock, member, others, partition, statuses } = this.#options;
    const received = new Map<string, ReplicaStatus>();
    const isAll = (): boolean => received.size >= others();
    const wait = Promise.withResolvers<void>();
    const asked = statuses.ask(
      partition,
      (status) => {
        if (status.member !== member) received.set(status.member, status);
        if (this.#judge(position, received).isEnough) wait.resolve();
        return isAll() && this.#judge(position, received).isEnough;
      },
      ASK_MS_MAX,
    );
    // Members that are not required are awaited for a shorter time.
    await Promise.race([asked, wait.promise.then(() => sleep(clock, GRACE_MS))]);
    const result = this.#judge(position, received);
    this.#learned = result.voters ?? this.#learned;
    this.#missing = result.isEnough || !this.#options.needsMajority ? undefined : missingText(result);
    return result;
  }

  #judge(
    position: Pick<ReplicaPosition, 'epoch' | 'sequence'>,
    answers: ReadonlyMap<string, ReplicaStatus>,
  ): SurveyResult {
    const received = [...answers.values()];
    const voters = this.#options.voters() ?? newestVoters(received, position);
    const known = received.filter(({ identity }) => identity !== '').map((each) => each.member);
    const isEnough =
      voters === undefined || voters.new.length === 0
        ? received.length > 0
        : isMajority(voters, new Set([...known, this.#options.member]));
    return { received, isEnough, voters };
  }
}

function missingText({ voters, received }: SurveyResult): string {
  if (voters === undefined || voters.new.length === 0) return 'no other member answers';
  const names = [...new Set([...voters.old, ...voters.new])].join(', ');
  const answered = received.map(({ member }) => member).join(', ') || 'none';
  return `most of its voters must answer (${names}), and these others did: ${answered}`;
}

function newestVoters(
  received: readonly ReplicaStatus[],
  position: Pick<ReplicaPosition, 'epoch' | 'sequence'>,
): Voters | undefined {
  const knowing = received.filter(({ voters }) => voters !== undefined);
  const newest = knowing.reduce<ReplicaStatus | undefined>(
    (best, each) => (best === undefined || isAhead(each, best) ? each : best),
    undefined,
  );
  return newest === undefined || isAhead(position, newest) ? undefined : newest.voters;
}
