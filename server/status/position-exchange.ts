import type { NatsSubscription } from '#cluster/nats/connection.ts';
import { type Clock, sleep } from '#runtime/base/time/clock.ts';
import type { MemberFinding } from '#protocols/rest/ports.ts';
import { clusterWarningSeverities } from '#protocols/rest/management/cluster-warnings.ts';
import type { SealedLink } from '#cluster/seal/sealed-link.ts';

/** Time for the others to answer, in milliseconds: the status must show an outage quickly. */
const ASK_MS_MAX = 500;

/** Maximum number of positions in a message: one for each possible partition. */
const POSITIONS_MAX = 256;

/** Position of the newest record of each partition that a member has applied, or written. */
export type Positions = ReadonlyMap<number, number>;

/** Maximum number of findings in a message, and of characters in one. */
const FINDINGS_MAX = 64;
const FINDING_CHARACTERS_MAX = 500;

/** Answers of members, by their names. */
export interface Answers {
  readonly positions: ReadonlyMap<string, Positions>;
  readonly findings: ReadonlyMap<string, readonly MemberFinding[]>;
}

/** Dependencies of an exchange. */
export interface PositionExchangeOptions {
  readonly sealed: SealedLink;
  readonly clock: Clock;
  readonly subject: string;
  /** Name of this member. */
  readonly member: string;
  readonly positions: () => Positions;
  /** Returns this member's findings about itself. */
  readonly findings: () => readonly MemberFinding[];
}

/**
 * Sends this member's positions in the logs and its findings about itself to other members on request, and requests
 * theirs. Requests are sent only when the state of the cluster is read, so that there is no cost otherwise.
 */
export class PositionExchange {
  readonly #options: PositionExchangeOptions;
  readonly #subscription: NatsSubscription;

  constructor(options: PositionExchangeOptions) {
    this.#options = options;
    const { findings, member, positions, sealed, subject } = options;
    this.#subscription = sealed.subscribe(subject, (message) => {
      const found = findings().slice(0, FINDINGS_MAX).map(shortened);
      sealed.respond(message, JSON.stringify({ member, positions: [...positions()], findings: found }));
    });
  }

  /**
   * Asks all members, including this one.
   *
   * @param members their number; after as many answers it stops waiting
   * @returns the answers that arrived in time, by name
   */
  async ask(members: number): Promise<Answers> {
    const { clock, sealed, subject } = this.#options;
    const positions = new Map<string, Positions>();
    const findings = new Map<string, readonly MemberFinding[]>();
    const all = Promise.withResolvers<void>();
    let answers: NatsSubscription | undefined;
    try {
      answers = sealed.ask(subject, '', (message) => {
        const answer = parse(message.string());
        if (answer === undefined) return;
        positions.set(answer.member, answer.positions);
        findings.set(answer.member, answer.findings);
        if (positions.size >= members) all.resolve();
      });
      await Promise.race([all.promise, sleep(clock, ASK_MS_MAX)]);
    } catch {
      // Without a connection nothing is known.
    } finally {
      answers?.unsubscribe();
    }
    return { positions, findings };
  }

  /** Stops answering. */
  close(): void {
    this.#subscription.unsubscribe();
  }
}

/** Answer of one member. */
interface Answer {
  readonly member: string;
  readonly positions: Positions;
  readonly findings: readonly MemberFinding[];
}

/** Members refuse a finding that is longer. */
function shortened({ code, message }: MemberFinding): MemberFinding {
  if (message.length <= FINDING_CHARACTERS_MAX) return { code, message };
  return { code, message: `${message.slice(0, FINDING_CHARACTERS_MAX - 1)}…` };
}

function isFinding(each: unknown): each is MemberFinding {
  if (typeof each !== 'object' || each === null) return false;
  const { code, message } = each as Partial<Record<keyof MemberFinding, unknown>>;
  const isKnown = typeof code === 'string' && Object.hasOwn(clusterWarningSeverities, code);
  return isKnown && typeof message === 'string' && message.length <= FINDING_CHARACTERS_MAX;
}

/** Messages from the network may be of another version. */
function parse(text: string): Answer | undefined {
  try {
    const { member, positions, findings } = JSON.parse(text) as Record<string, unknown>;
    if (typeof member !== 'string' || !Array.isArray(positions) || positions.length > POSITIONS_MAX)
      return undefined;
    const isPosition = (each: unknown): each is [number, number] =>
      Array.isArray(each) &&
      each.length === 2 &&
      each.every((part) => Number.isSafeInteger(part) && part >= 0);
    const found = Array.isArray(findings) ? findings.slice(0, FINDINGS_MAX).filter(isFinding) : [];
    return { member, positions: new Map(positions.filter(isPosition)), findings: found };
  } catch {
    return undefined;
  }
}
