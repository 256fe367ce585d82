import type { Subscription } from '@nats-io/transport-node';
import { type Clock, sleep } from '#runtime/base/clock.ts';
import type { MemberFinding } from '#protocols/rest/ports.ts';
import { clusterWarningSeverities } from '#protocols/rest/cluster-warnings.ts';
import type { SealedLink } from '#cluster/seal/sealed-link.ts';

/** Time the others have to tell their positions, in milliseconds: who asks wants to see what is broken now. */
const ASK_MS_MAX = 500;

/** Positions a message may hold at most: one for each partition there can be. */
const POSITIONS_MAX = 256;

/** Position of the newest record of each partition that a member has applied, or written. */
export type Positions = ReadonlyMap<number, number>;

/** Findings a message may hold at most, and characters of one. */
const FINDINGS_MAX = 64;
const FINDING_CHARACTERS_MAX = 500;

/** What members told, by their names. */
export interface Told {
  readonly positions: ReadonlyMap<string, Positions>;
  readonly findings: ReadonlyMap<string, readonly MemberFinding[]>;
}

/** What an exchange works with. */
export interface PositionExchangeOptions {
  readonly sealed: SealedLink;
  readonly clock: Clock;
  readonly subject: string;
  /** Name of this member. */
  readonly member: string;
  readonly positions: () => Positions;
  /** What this member finds wrong with itself. */
  readonly findings: () => readonly MemberFinding[];
}

/**
 * Tells the other members how far this one is in the logs and what it finds wrong with itself, and asks them. Only whoever wants to see the state of the
 * cluster asks, so that it costs nothing the rest of the time.
 */
export class PositionExchange {
  readonly #options: PositionExchangeOptions;
  readonly #subscription: Subscription;

  constructor(options: PositionExchangeOptions) {
    this.#options = options;
    const { findings, member, positions, sealed, subject } = options;
    this.#subscription = sealed.subscribe(subject, (message) => {
      const found = findings().slice(0, FINDINGS_MAX);
      sealed.respond(message, JSON.stringify({ member, positions: [...positions()], findings: found }));
    });
  }

  /**
   * Asks all members, this one included.
   *
   * @param members how many there are; with as many answers it waits no longer
   * @returns what those who answered in time said, by name
   */
  async ask(members: number): Promise<Told> {
    const { clock, sealed, subject } = this.#options;
    const positions = new Map<string, Positions>();
    const findings = new Map<string, readonly MemberFinding[]>();
    const all = Promise.withResolvers<void>();
    let answers: Subscription | undefined;
    try {
      answers = sealed.ask(subject, '', (message) => {
        const said = parse(message.string());
        if (said === undefined) return;
        positions.set(said.member, said.positions);
        findings.set(said.member, said.findings);
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

  /** Tells nobody any more. */
  close(): void {
    this.#subscription.unsubscribe();
  }
}

/** What one member told. */
interface Said {
  readonly member: string;
  readonly positions: Positions;
  readonly findings: readonly MemberFinding[];
}

function isFinding(each: unknown): each is MemberFinding {
  if (typeof each !== 'object' || each === null) return false;
  const { code, message } = each as Partial<Record<keyof MemberFinding, unknown>>;
  const isKnown = typeof code === 'string' && Object.hasOwn(clusterWarningSeverities, code);
  return isKnown && typeof message === 'string' && message.length <= FINDING_CHARACTERS_MAX;
}

/** What comes over the network may be of another version. */
function parse(text: string): Said | undefined {
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
