import type { Clock } from '#runtime/base/clock.ts';
import type { DataDirectoryLock } from '#runtime/embedded/data-directory-lock.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { Log } from '#runtime/telemetry/log-context.ts';
import { lookRepeatedly } from './repeated-look.ts';

/** What there is to watch, and how it is told. */
export interface LockWatch {
  readonly clock: Clock;
  readonly log: Pick<Log, 'error' | 'info' | 'warn'>;
  readonly lock: Pick<DataDirectoryLock, 'requireHeld'>;
  /** Ends the process at once. */
  readonly end: ((cause: unknown) => void) | undefined;
}

/**
 * Ends a member of a cluster whose data directory another process may have: the others have everything, and go on. Alone
 * there is nobody else, so that reads are worth going on with; the journal stops writes there.
 *
 * Where it cannot be told, as while the disk or the rights of the folder fail, it is told once and looked at again: the
 * lock of the operating system is held all the same.
 *
 * @returns ends the watch
 */
export function endWhenLost({ clock, end, lock, log }: LockWatch): () => void {
  let isUnknown = false;
  const stop = lookRepeatedly(clock, () => {
    try {
      lock.requireHeld();
      if (isUnknown) log.info('the lock file of the data directory can be looked at again');
      isUnknown = false;
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'CONFLICT') {
        if (!isUnknown) log.warn('the lock file of the data directory cannot be looked at', { error });
        isUnknown = true;
        return;
      }
      stop();
      log.error('the data directory may be in use by another process; this one ends at once', { error });
      end?.(error);
    }
  });
  return stop;
}
