import type { Clock } from '#runtime/base/time/clock.ts';
import type { DataDirectoryLock } from '#runtime/embedded/data-directory-lock.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { Log } from '#runtime/telemetry/log-context.ts';
import { checkRepeatedly } from './repeated-check.ts';

/** What is monitored, and the reactions. */
export interface LockWatch {
  readonly clock: Clock;
  readonly log: Pick<Log, 'error' | 'info' | 'warn'>;
  readonly lock: Pick<DataDirectoryLock, 'requireHeld'>;
  /** Ends the process at once. */
  readonly end: ((cause: unknown) => void) | undefined;
}

/**
 * Ends a member of a cluster when another process may use its data directory: the other members have all data, and
 * continue. A single member keeps answering reads, because there is no other member; its journal stops writes.
 *
 * When the state cannot be determined, as while the disk or the permissions of the folder fail, this is logged once and
 * checked again: the lock of the operating system is still held.
 *
 * @returns ends the watch
 */
export function endWhenLost({ clock, end, lock, log }: LockWatch): () => void {
  let isUnknown = false;
  const stop = checkRepeatedly(clock, () => {
    try {
      lock.requireHeld();
      if (isUnknown) log.info('lock file of the data directory can be read again');
      isUnknown = false;
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'CONFLICT') {
        if (!isUnknown) log.warn('lock file of the data directory cannot be read', { error });
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
