import { describe, expect, it } from 'vitest';
import { systemClock } from '#runtime/base/time/clock.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { createLog, type RootLog } from '#runtime/telemetry/log-context.ts';
import { readableLine } from '#runtime/telemetry/readable-line.ts';

const time = '2026-01-02T03:04:05.006Z';
/** As a clock on the wall of whoever runs this shows it. */
const shown = new Date(time).toTimeString().slice(0, 8);

function line(facts: Readonly<Record<string, unknown>>): string {
  return readableLine(`${JSON.stringify({ level: 'info', time, msg: 'ready', ...facts })}\n`, false);
}

/** What a log writes at a terminal without colours. */
function written(write: (log: RootLog) => void): string {
  const lines: string[] = [];
  const sink = { write: (json: string) => void lines.push(readableLine(json, false)) };
  write(createLog({ level: 'debug', clock: systemClock, sink, member: () => 'm1' }));
  return lines.join('');
}

describe('a line of the log at a terminal', () => {
  it('has the time of day, the level, the message and the facts', () => {
    expect(line({ port: 8080, url: 'http://127.0.0.1:8080', why: 'two words', none: null })).toBe(
      `${shown} INFO  ready port=8080 url=http://127.0.0.1:8080 why="two words" none=null\n`,
    );
  });

  it('leaves out whose line it is', () => {
    expect(written((log) => log.warn('low'))).toMatch(/^\d\d:\d\d:\d\d WARN {2}low\n$/);
  });

  it('has the stack of an error and of its causes on lines of their own', () => {
    const cause = new Error('disk on fire');
    const text = written((log) =>
      log.error('failed', { at: 3, error: new ServiceError('WRITES_STOPPED', 'stopped', { cause }) }),
    );
    const [head, ...rest] = text.trimEnd().split('\n');
    expect(head).toMatch(/ERROR failed at=3$/);
    expect(rest[0]).toBe('    ServiceError: stopped');
    expect(rest).toContain('    caused by Error: disk on fire');
    expect(rest.every((each) => each.startsWith('    '))).toBe(true);
  });

  it('steers no terminal with what came from outside', () => {
    const evil = '\u001b]0;x\u0007\u009b2J\r\n\u007f';
    const plain = line({ msg: `m${evil}`, text: evil, list: [evil], error: { stack: `Error: ${evil}` } });
    expect(plain.replace(/\n {4}|\n$/g, '')).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
    expect(plain).toContain('m\\u001b]0;x\\u0007\\u009b2J');
  });

  it('is coloured where the terminal takes it', () => {
    const json = `${JSON.stringify({ level: 'error', time, msg: 'low' })}\n`;
    expect(readableLine(json, true)).toBe(`\u001b[2m${shown}\u001b[0m \u001b[31mERROR\u001b[0m low\n`);
  });

  it('is unchanged when it is not JSON', () => {
    expect(readableLine('plain text\n', true)).toBe('plain text\n');
  });
});
