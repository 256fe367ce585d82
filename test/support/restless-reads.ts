import { SNAPSHOT_MS_MAX } from '#actors/branch/answer-reader.ts';
import type { ActorKind, QueryContext } from '#runtime/commit/behaviour.ts';
import { settle, TestClock } from './test-clock.ts';

/**
 * Lets every pause of some reads take longer than a read may keep a snapshot, and looks then at what they have pinned.
 */
export class RestlessReads {
  /** Pauses so far, and those at which a snapshot stayed pinned. */
  pauses = 0;
  pinnedPauses = 0;
  /** Waits for memory, and those at which a snapshot stayed pinned. */
  roomWaits = 0;
  pinnedRoomWaits = 0;
  /** What happens at a pause, while the read waits. */
  meanwhile: () => Promise<unknown> = async () => {};
  readonly #types: readonly string[];
  readonly #clock = new TestClock();
  #pinned = 0;

  /** @param types the queries that are such reads */
  constructor(types: readonly string[]) {
    this.#types = types;
  }

  /** The kind whose queries are such reads. */
  watched(kind: ActorKind): ActorKind {
    return {
      ...kind,
      create: (inContext) => {
        const actor = kind.create(inContext);
        return {
          execute: (command: never, turn) => actor.execute(command, turn),
          query: (query: never, context) => {
            const { type } = query as { readonly type: string };
            return actor.query(query, this.#types.includes(type) ? this.#restless(context) : context);
          },
          forget: () => actor.forget?.(),
        };
      },
    };
  }

  #restless(context: QueryContext): QueryContext {
    const pause = (): Promise<void> => this.#pause();
    return {
      caller: context.caller,
      budget: context.budget,
      clock: this.#clock,
      get view() {
        return context.view;
      },
      pin: () => {
        const snapshot = context.pin();
        this.#pinned += 1;
        return {
          ...snapshot,
          close: () => {
            this.#pinned -= 1;
            snapshot.close();
          },
        };
      },
      stay: () => context.stay(),
      pause,
      rest: pause,
      mustPause: () => true,
      takeRoom: () => this.#waitForRoom(),
      giveRoom: () => {},
      usePolicy: () => {},
    };
  }

  async #waitForRoom(): Promise<void> {
    const pinned = this.pinnedPauses;
    this.roomWaits += 1;
    await this.#pause();
    if (this.pinnedPauses > pinned) this.pinnedRoomWaits += 1;
  }

  async #pause(): Promise<void> {
    this.pauses += 1;
    await settle(1);
    this.#clock.advance(SNAPSHOT_MS_MAX);
    if (this.#pinned > 0) this.pinnedPauses += 1;
    await this.meanwhile();
  }
}
