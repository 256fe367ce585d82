import { pino, type Logger } from 'pino';

import type { Clock } from '#runtime/base/time/clock.ts';
import type { LogLevel } from '#runtime/config/options.ts';
import { ProcessOutput } from './process-output.ts';
import { type Facts, redact, redactText } from './redact.ts';

/** The level of a line. */
export type LineLevel = Exclude<LogLevel, 'silent'>;

/**
 * The log of the engine for operators. Lines are JSON with `time`, `level`, `msg`, the facts of the line and those of
 * its context (a request id, a branch). Facts are redacted at every depth, so that callers need not know which of them
 * are private.
 */
export interface Log {
  /** Traces one request or signal; off in production. */
  debug(message: string, facts?: Facts): void;
  /** A change of state that an operator may need later. */
  info(message: string, facts?: Facts): void;
  /** A problem that the member handles but an operator should check. */
  warn(message: string, facts?: Facts): void;
  /** A broken promise or invariant. Put the thrown value under `error`. */
  error(message: string, facts?: Facts): void;
  /** A log that adds `facts` to each of its lines; they are serialized only when a line is written. */
  child(facts: Facts): Log;
  /** Whether a line of this level would be written; check it before collecting expensive facts. */
  isEnabled(level: LineLevel): boolean;
}

/** Destination of complete lines, each with its line feed. */
export interface LogSink {
  write(line: string): void;
  /** Writes buffered lines, if there are any. Must not throw or wait indefinitely. */
  flush?(): void;
}

/** The log of a process. */
export interface RootLog extends Log {
  /** Writes buffered lines; call it before the process ends. */
  flush(): void;
}

/** Settings of a log. */
export interface LogSettings {
  readonly level: LogLevel;
  readonly clock: Clock;
  /** Destination of lines; unset: standard output, see {@link ProcessOutput}. */
  readonly sink?: LogSink;
  /** Name of the member in each line; read for every line, because it may depend on a port that is assigned late. */
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
 * The facts of the context are stored as given and redacted with each line. Most requests never write a line, and then
 * their child log costs one allocation.
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
