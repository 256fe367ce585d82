import { rm } from 'node:fs/promises';
import type { Clock } from '#runtime/base/time/clock.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { ShardPosition } from '#runtime/shard/shard.ts';
import type { ActorCopies } from './actor-copies.ts';
import { type CopyShard, receiveShard, type ShardCopy } from './copy-shard.ts';
import { engineCaller } from '../engine-caller.ts';
import type { ActorId, Router } from '../ports.ts';

/** Time limit of one copy, in milliseconds. */
const COPY_MS_MAX = 3_600_000;

/** Maximum retries of a copy whose actor moved to another member meanwhile. */
const RETRIES_MAX = 5;

/** Copies actors on any member: their owners make the copies and send them. */
export class RoutedCopies implements ActorCopies {
  readonly #router: Router;
  readonly #clock: Clock;

  constructor(router: Router, clock: Clock) {
    this.#router = router;
    this.#clock = clock;
  }

  async copy(actor: ActorId, folder: string): Promise<ShardPosition> {
    const query: CopyShard = { type: 'CopyShard' };
    const tenant = decodeURIComponent(actor.slice(0, actor.indexOf('/')));
    for (let retries = 0; ; retries += 1) {
      const caller = { ...engineCaller(tenant), deadlineMs: this.#clock.monotonicMs() + COPY_MS_MAX };
      try {
        const { chunks } = (await this.#router.query(actor, query, caller)) as ShardCopy;
        return await receiveShard(chunks, folder);
      } catch (error) {
        const hasMoved = error instanceof ServiceError && error.code === 'NOT_OWNER';
        if (!hasMoved || retries >= RETRIES_MAX) throw error;
        await rm(folder, { recursive: true, force: true });
      }
    }
  }
}
