import type { Clock } from '#runtime/base/clock.ts';
import { SignalEcho } from '#runtime/base/signal-echo.ts';

/** What ends a process: once to ask, twice to insist. */
export interface DrainHooks {
  /** Stops gracefully; resolves when everything is closed. */
  readonly drain: (signal: string) => Promise<void>;
  /** Called with the exit code when drained, and at once at the second signal. */
  readonly exit: (code: number) => void;
}

/** Where signals come from; a process, or a test. */
export interface SignalSource {
  on(signal: 'SIGTERM' | 'SIGINT', listener: (signal: 'SIGTERM' | 'SIGINT') => void): unknown;
}

/** Exit code after a second signal: cut short. */
const FORCED_EXIT_CODE = 1;

/**
 * Drains at the first SIGTERM or SIGINT and exits 0 when that is done; a second one exits at once. Nothing
 * acknowledged is lost either way: what the drain saves is the unfinished requests.
 */
export function drainOnSignals(source: SignalSource, hooks: DrainHooks, clock: Clock): void {
  const echo = new SignalEcho(clock);
  let isDraining = false;
  const onSignal = (signal: string): void => {
    if (echo.isEcho(signal)) return;
    if (isDraining) {
      hooks.exit(FORCED_EXIT_CODE);
      return;
    }
    isDraining = true;
    hooks.drain(signal).then(
      () => hooks.exit(0),
      () => hooks.exit(FORCED_EXIT_CODE),
    );
  };
  source.on('SIGTERM', onSignal);
  source.on('SIGINT', onSignal);
}
