import type { Clock } from '#runtime/base/time/clock.ts';
import { SignalEcho } from '#runtime/base/process/signal-echo.ts';

/** Callbacks that end a process: gracefully first, then at once. */
export interface DrainHooks {
  /** Stops gracefully; resolves when everything is closed. */
  readonly drain: (signal: string) => Promise<void>;
  /** Called with the exit code when drained, and at once at the second signal. */
  readonly exit: (code: number) => void;
}

/** Source of signals: a process, or a test. */
export interface SignalSource {
  on(signal: 'SIGTERM' | 'SIGINT', listener: (signal: 'SIGTERM' | 'SIGINT') => void): unknown;
}

/** Exit code after a second signal: the drain was interrupted. */
const FORCED_EXIT_CODE = 1;

/**
 * Drains at the first SIGTERM or SIGINT and exits 0 when that is done; a second one exits at once. No acknowledged
 * write is lost either way: the drain only completes requests under way.
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
