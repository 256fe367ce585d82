import type { NatsConnection, Subscription } from '@nats-io/transport-node';

/** Time the others have to tell their positions, in milliseconds: who asks wants to see what is broken now. */
const ASK_MS_MAX = 500;

/** Positions a message may hold at most: one for each partition there can be. */
const POSITIONS_MAX = 256;

/** Position of the newest record of each partition that a member has applied, or written. */
export type Positions = ReadonlyMap<number, number>;

/** What an exchange works with. */
export interface PositionExchangeOptions {
  readonly connection: NatsConnection;
  readonly subject: string;
  /** Name of this member. */
  readonly member: string;
  readonly positions: () => Positions;
}

/**
 * Tells the other members how far this one is in the logs, and asks them. Only whoever wants to see the state of the
 * cluster asks, so that it costs nothing the rest of the time.
 */
export class PositionExchange {
  readonly #options: PositionExchangeOptions;
  readonly #subscription: Subscription;

  constructor(options: PositionExchangeOptions) {
    this.#options = options;
    const { connection, member, positions, subject } = options;
    this.#subscription = connection.subscribe(subject, {
      callback: (error, message) => {
        if (error === null) message.respond(JSON.stringify({ member, positions: [...positions()] }));
      },
    });
  }

  /**
   * Asks all members, this one included.
   *
   * @param members how many there are; with as many answers it waits no longer
   * @returns what those who answered in time said, by name
   */
  async ask(members: number): Promise<ReadonlyMap<string, Positions>> {
    const { connection, subject } = this.#options;
    const told = new Map<string, Positions>();
    try {
      const answers = await connection.requestMany(subject, '', {
        strategy: 'count',
        maxMessages: Math.max(1, members),
        maxWait: ASK_MS_MAX,
      });
      for await (const answer of answers) {
        const said = parse(answer.string());
        if (said !== undefined) told.set(said.member, said.positions);
      }
    } catch {
      // Without a connection, or with nobody there, nothing is known.
    }
    return told;
  }

  /** Tells nobody any more. */
  close(): void {
    this.#subscription.unsubscribe();
  }
}

/** What comes over the network may be of another version. */
function parse(text: string): { readonly member: string; readonly positions: Positions } | undefined {
  try {
    const { member, positions } = JSON.parse(text) as { member?: unknown; positions?: unknown };
    if (typeof member !== 'string' || !Array.isArray(positions) || positions.length > POSITIONS_MAX)
      return undefined;
    const isPosition = (each: unknown): each is [number, number] =>
      Array.isArray(each) &&
      each.length === 2 &&
      each.every((part) => Number.isSafeInteger(part) && part >= 0);
    return { member, positions: new Map(positions.filter(isPosition)) };
  } catch {
    return undefined;
  }
}
