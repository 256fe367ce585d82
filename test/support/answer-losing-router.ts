import type { Router } from '#runtime/actor/ports.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';

/** What becomes of commands of one type. */
export interface LostAnswers {
  /** Type of the commands. */
  readonly type: string;
  /** What the sender is told instead of the answer. */
  readonly told: unknown;
  /** Whether the command is carried out all the same. */
  readonly isDone: boolean;
}

/**
 * A router whose answers to some commands are lost.
 *
 * @param lost read at each command, so that it may change; undefined: nothing is lost
 */
export function losingAnswers(router: Router, lost: () => LostAnswers | undefined): Router {
  return {
    query: (actor, query, caller) => router.query(actor, query, caller),
    async command(actor, command, delivery) {
      const losing = lost();
      if (losing?.type !== (command as { readonly type: string }).type)
        return await router.command(actor, command, delivery);
      if (losing.isDone) await router.command(actor, command, delivery);
      throw losing.told;
    },
  };
}

/**
 * A router to actors of another member: a caller that goes away is told so at once, while the other member carries the
 * command out.
 *
 * @param onCommand told of each command when it is under way
 */
export function farRouter(router: Router, onCommand: (type: string) => void): Router {
  return {
    query: (actor, query, caller) => router.query(actor, query, caller),
    command(actor, command, delivery) {
      const { signal, ...caller } = delivery.caller;
      const answer = router.command(actor, command, { ...delivery, caller });
      return new Promise((resolve, reject) => {
        signal?.addEventListener('abort', () => reject(new ServiceError('REQUEST_CANCELLED')));
        answer.then(resolve, reject);
        onCommand((command as { readonly type: string }).type);
      });
    },
  };
}
