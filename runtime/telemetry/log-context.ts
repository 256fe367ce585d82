import { pino, type Logger } from 'pino';

import type { Clock } from '#runtime/base/clock.ts';
import type { LogLevel } from '#runtime/config/options.ts';
import { ProcessOutput } from './process-output.ts';
import { type Facts, redact, redactText } from './redact.ts';

/** A level a line can have. */
export type LineLevel = Exclude<LogLevel, 'silent'>;

/**
 * Where the engine writes what an operator should know. Lines are JSON with `time`, `level`, `msg`, the facts
 * of the line and those of its context (a request id, a branch). Facts are redacted at every depth, so nobody
 * has to remember which of them are private.
 */
export interface Log {
  /** For following one request or signal; off in production. */
  debug(message: string, facts?: Facts): void;
  /** A change of state an operator wants to see later. */
  info(message: string, facts?: Facts): void;
  /** Something an operator should look at that the member copes with. */
  warn(message: string, facts?: Facts): void;
  /** A broken promise or invariant. Put what was thrown under `error`. */
  error(message: string, facts?: Facts): void;
  /** A log that adds `facts` to each of its lines; nothing is serialized before a line is written. */
  child(facts: Facts): Log;
  /** Whether a line of this level would be written; ask before gathering expensive facts. */
  isEnabled(level: LineLevel): boolean;
}

/** Takes finished lines, each with its line feed. */
export interface LogSink {
  write(line: string): void;
  /** Writes out what is still buffered, if anything ever is. Must not throw, nor wait for ever. */
  flush?(): void;
}

/** The log of a process. */
export interface RootLog extends Log {
  /** Writes out what is still buffered; call it before the process ends. */
  flush(): void;
}

/** What a log is made of. */
export interface LogSettings {
  readonly level: LogLevel;
  readonly clock: Clock;
  /** Where lines go; unset: standard output, see {@link ProcessOutput}. */
  readonly sink?: LogSink;
  /** Name of the member, for each line; asked with each, because it may follow a port that is known late. */
  readonly member?: () => string;
}

/** Opens the log of a process. */
export function createLog({
  level,
  clock,
  sink = new ProcessOutput(1, clock),
  member,
}: LogSettings): RootLog {
  const logger = pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${new Date(clock.wallMs()).toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    sink,
  );
  return Object.assign(new PinoLog(logger, {}, member), { flush: () => sink.flush?.() });
}

/** A log that writes nothing. */
export const silentLog: Log = Object.freeze({
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => silentLog,
  isEnabled: () => false,
});

/**
 * The facts of the context are kept as they came and redacted with each line: most requests never write one,
 * and then their child log costs one allocation.
 */
class PinoLog implements Log {
  readonly #logger: Logger;
  readonly #context: Facts;
  readonly #member: (() => string) | undefined;

  constructor(logger: Logger, context: Facts, member: (() => string) | undefined) {
    this.#logger = logger;
    this.#context = context;
    this.#member = member;
  }

  debug(message: string, facts?: Facts): void {
    this.#write('debug', message, facts);
  }

  info(message: string, facts?: Facts): void {
    this.#write('info', message, facts);
  }

  warn(message: string, facts?: Facts): void {
    this.#write('warn', message, facts);
  }

  error(message: string, facts?: Facts): void {
    this.#write('error', message, facts);
  }

  child(facts: Facts): Log {
    return new PinoLog(this.#logger, { ...this.#context, ...facts }, this.#member);
  }

  isEnabled(level: LineLevel): boolean {
    return this.#logger.isLevelEnabled(level);
  }

  #write(level: LineLevel, message: string, facts: Facts | undefined): void {
    if (!this.#logger.isLevelEnabled(level)) return;
    const named = this.#member === undefined ? undefined : { member: this.#member() };
    this.#logger[level](redact({ ...named, ...this.#context, ...facts }), redactText(message));
  }
}
