import { type Clock, sleep } from '#runtime/base/clock.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { isAhead, type ReplicaCheck, type ReplicaPosition } from '#cluster/replication/durability-gate.ts';
import { isMajority, type Keepers } from './keepers.ts';
import type { Standing, StandingChannel } from './standing.ts';

/** Time one question is waited for, in milliseconds. */
const ASK_MS_MAX = 500;

/** Time the slower ones have when enough have answered, in milliseconds. */
const GRACE_MS = 100;

/** What a survey works with. */
export interface ReplicaSurveyOptions {
  readonly partition: number;
  /** Name of this member. */
  readonly member: string;
  readonly standings: StandingChannel;
  /** How many other members are heard of. */
  readonly others: () => number;
  /** The keepers as this member's journal knows them. */
  readonly keepers: () => Keepers | undefined;
  /**
   * Of class `replica-disk`: it is asked until a majority of the keepers has answered. In another class whoever
   * answers in time does.
   */
  readonly needsMajority: boolean;
  readonly clock: Clock;
}

/** What the replicas of a partition told. */
export interface SurveyResult {
  /** By member, this one not among them. */
  readonly told: readonly Standing[];
  /** Whether they are as many as the class asks for. */
  readonly isEnough: boolean;
  /** The keepers they are measured by; undefined when nobody knows of any. */
  readonly keepers: Keepers | undefined;
}

/**
 * Asks the replicas of a partition where they stand: a stream that lost its end does not know that it did.
 *
 * A record that was acknowledged in class `replica-disk` is in the journals of a majority of the keepers, so a
 * majority of answers has one that knows of it. Where nobody knows of keepers at least one other member has to answer.
 *
 * @see Reliability: R5, R9
 */
export class ReplicaSurvey implements ReplicaCheck {
  readonly #options: ReplicaSurveyOptions;
  #learned: Keepers | undefined;
  #lack: string | undefined;

  constructor(options: ReplicaSurveyOptions) {
    this.#options = options;
  }

  /** The keepers as the others told them last. */
  get learned(): Keepers | undefined {
    return this.#learned;
  }

  /** Who did not answer the last question, for people; undefined when as many did as the class asks for. */
  get lack(): string | undefined {
    return this.#lack;
  }

  /** @throws {ServiceError} `REQUEST_CANCELLED` when it was given up */
  async ask(
    position: Pick<ReplicaPosition, 'epoch' | 'sequence'>,
    signal: AbortSignal | undefined,
  ): Promise<readonly ReplicaPosition[]> {
    for (;;) {
      if (signal?.aborted === true) throw new ServiceError('REQUEST_CANCELLED');
      const { isEnough, told } = await this.once(position);
      if (isEnough || !this.#options.needsMajority) return told.filter(({ identity }) => identity !== '');
    }
  }

  /** Asks once. @param position of this member: whoever is behind it may know older keepers */
  async once(position: Pick<ReplicaPosition, 'epoch' | 'sequence'>): Promise<SurveyResult> {
    const { clock, member, others, partition, standings } = this.#options;
    const told = new Map<string, Standing>();
    const isAll = (): boolean => told.size >= others();
    const wait = Promise.withResolvers<void>();
    const asked = standings.ask(
      partition,
      (standing) => {
        if (standing.member !== member) told.set(standing.member, standing);
        if (this.#judge(position, told).isEnough) wait.resolve();
        return isAll() && this.#judge(position, told).isEnough;
      },
      ASK_MS_MAX,
    );
    // Whoever is away is not waited for as long as whoever is needed.
    await Promise.race([asked, wait.promise.then(() => sleep(clock, GRACE_MS))]);
    const result = this.#judge(position, told);
    this.#learned = result.keepers ?? this.#learned;
    this.#lack = result.isEnough || !this.#options.needsMajority ? undefined : lackOf(result);
    return result;
  }

  #judge(
    position: Pick<ReplicaPosition, 'epoch' | 'sequence'>,
    answers: ReadonlyMap<string, Standing>,
  ): SurveyResult {
    const told = [...answers.values()];
    const keepers = this.#options.keepers() ?? newestKeepers(told, position);
    const known = told.filter(({ identity }) => identity !== '').map((each) => each.member);
    const isEnough =
      keepers === undefined || keepers.new.length === 0
        ? told.length > 0
        : isMajority(keepers, new Set([...known, this.#options.member]));
    return { told, isEnough, keepers };
  }
}

function lackOf({ keepers, told }: SurveyResult): string {
  if (keepers === undefined || keepers.new.length === 0) return 'no other member answers';
  const names = [...new Set([...keepers.old, ...keepers.new])].join(', ');
  const answered = told.map(({ member }) => member).join(', ') || 'none';
  return `most of the members that keep it have to answer (${names}), and of the others there are: ${answered}`;
}

function newestKeepers(
  told: readonly Standing[],
  position: Pick<ReplicaPosition, 'epoch' | 'sequence'>,
): Keepers | undefined {
  const knowing = told.filter(({ keepers }) => keepers !== undefined);
  const newest = knowing.reduce<Standing | undefined>(
    (best, each) => (best === undefined || isAhead(each, best) ? each : best),
    undefined,
  );
  return newest === undefined || isAhead(position, newest) ? undefined : newest.keepers;
}
