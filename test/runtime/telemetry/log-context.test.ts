import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { type Clock, systemClock } from '#runtime/base/time/clock.ts';
import type { LogLevel } from '#runtime/config/options.ts';
import { Secret } from '#runtime/config/secret.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { createLog, type RootLog, silentLog } from '#runtime/telemetry/log-context.ts';

const clock: Clock = { ...systemClock, wallMs: () => Date.UTC(2026, 0, 2, 3, 4, 5, 6) };

type Line = Readonly<Record<string, unknown>>;

interface Captured {
  readonly log: RootLog;
  /** The lines written so far. */
  readonly lines: Line[];
  /** All of them as they were written. */
  readonly text: () => string;
}

function capture(level: LogLevel = 'info'): Captured {
  const written: string[] = [];
  const lines: Line[] = [];
  const write = (line: string): void => {
    written.push(line);
    lines.push(JSON.parse(line) as Line);
  };
  return { log: createLog({ level, clock, sink: { write } }), lines, text: () => written.join('') };
}

describe('a log', () => {
  it('writes a line of JSON with time, level, message and facts', () => {
    const { log, lines, text } = capture();
    log.info('journal opened', { segments: 3 });
    expect(lines[0]).toEqual({
      level: 'info',
      time: '2026-01-02T03:04:05.006Z',
      msg: 'journal opened',
      segments: 3,
    });
    expect(text().endsWith('}\n')).toBe(true);
  });

  it('adds the current name of its source to a line, and prefers fields of the line', () => {
    const lines: Line[] = [];
    let name = 'host:0';
    const log = createLog({
      level: 'info',
      clock,
      sink: { write: (line) => void lines.push(JSON.parse(line) as Line) },
      member: () => name,
    });
    log.info('a');
    name = 'host:8080';
    log.child({ request_id: 'r1' }).info('b', { status: 200 });
    log.info('c', { member: 'other' });
    expect(lines.map(({ member }) => member)).toEqual(['host:0', 'host:8080', 'other']);
    expect(lines[1]).toMatchObject({ request_id: 'r1', status: 200 });
  });

  it('writes lines of its level and above only', () => {
    const { log, lines } = capture('warn');
    log.debug('a');
    log.info('b');
    log.warn('c');
    log.error('d');
    expect(lines.map(({ msg }) => msg)).toEqual(['c', 'd']);
    expect([log.isEnabled('info'), log.isEnabled('warn')]).toEqual([false, true]);
  });

  it('writes nothing when silent', () => {
    const { log, text } = capture('silent');
    log.error('a');
    silentLog.child({ a: 1 }).error('b');
    expect(text()).toBe('');
  });

  it('adds the facts of its context to every line, the nearest winning', () => {
    const { log, lines } = capture();
    const request = log.child({ request_id: 'r1', branch: 'main' });
    request.child({ branch: 'draft' }).info('a', { status: 200 });
    request.info('b');
    log.info('c');
    expect(lines[0]).toMatchObject({ request_id: 'r1', branch: 'draft', status: 200 });
    expect(lines[1]).toMatchObject({ request_id: 'r1', branch: 'main' });
    expect(lines[2]).not.toHaveProperty('request_id');
  });

  it('writes an error with its code, its stack and its causes', () => {
    const { log, lines } = capture();
    const cause = new Error('disk on fire', { cause: new Error('short circuit') });
    log.error('commit failed', { error: new ServiceError('WRITES_STOPPED', 'stopped', { cause }) });
    expect(lines[0]?.error).toMatchObject({
      type: 'ServiceError',
      code: 'WRITES_STOPPED',
      message: 'stopped',
      stack: expect.stringContaining('log-context.test.ts'),
      cause: { message: 'disk on fire', cause: { message: 'short circuit' } },
    });
  });
});

describe('what must not be in a log', () => {
  it.each([
    'authorization',
    'Authorization',
    'proxy-authorization',
    'cookie',
    'set-cookie',
    'password',
    'newPassword',
    'initial_admin_password',
    'token',
    'refreshToken',
    'access_token',
    'client_secret',
    'jwtSecret',
    'x-api-key',
    'apiKey',
    'master_key',
    'privateKey',
    'code_verifier',
    'x-svc-signature',
  ])('hides the value of %s at every depth', (name) => {
    const { log, lines, text } = capture();
    const secret = { [name]: 'hunter2', plain: 'seen' };
    log.child({ headers: secret }).info('a', {
      ...secret,
      deep: { list: [{ object: secret }] },
      error: Object.assign(new Error('x'), { details: secret }),
    });
    expect(text()).not.toContain('hunter2');
    expect(lines[0]).toMatchObject({
      [name]: '[redacted]',
      headers: { [name]: '[redacted]', plain: 'seen' },
      deep: { list: [{ object: { [name]: '[redacted]', plain: 'seen' } }] },
      error: { details: { [name]: '[redacted]', plain: 'seen' } },
    });
  });

  it('hides private objects and lists as a whole', () => {
    const { log, text } = capture();
    log.info('a', { tokens: ['hunter2'], credentials: { user: 'hunter2' }, key: new Secret('hunter2') });
    expect(text()).not.toContain('hunter2');
  });

  it.each([
    ['a bearer token', 'Authorization: Bearer abc.def-ghi', 'abc.def-ghi'],
    ['basic credentials', 'sent Basic dXNlcjpwYXNz', 'dXNlcjpwYXNz'],
    ['a JWT', 'bad eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl', 'eyJzdWIiOiJhIn0'],
    ['an API key', 'key svc_0123456789abcdef0123 refused', '0123456789abcdef0123'],
    ['a magic link', 'GET /auth/r/magic-link/verify?token=s3cr3t&x=1', 's3cr3t'],
    ['a signed link', 'GET /a.png?expires=1&sig=s3cr3t', 's3cr3t'],
  ])('hides %s inside of a message, a fact and an error', (_, value, secret) => {
    const { log, text } = capture();
    log.info(value);
    log.info('a', { address: value, error: new Error(value) });
    expect(text()).not.toContain(secret);
    expect(text()).toContain('[redacted]');
  });

  it('keeps what only looks private: counts, times and plain addresses', () => {
    const { log, lines } = capture();
    log.info('a', { tokenCount: 3, token_ttl_ms: 5, address: '/api/a?limit=3', note: 'a bearer of news' });
    expect(lines[0]).toMatchObject({ tokenCount: 3, token_ttl_ms: 5, address: '/api/a?limit=3' });
    expect(lines[0]?.note).not.toContain('/');
  });

  it('includes unreadable values: cycles, bytes, long texts and deep objects are cut', () => {
    const { log, lines, text } = capture();
    const cycle: Record<string, unknown> = { name: 'loop' };
    cycle.self = cycle;
    log.info('a', {
      cycle,
      bytes: new Uint8Array(1_000),
      long: 'x'.repeat(100_000),
      many: new Array(10_000).fill(1),
      big: 10n,
      at: new Date(0),
      call: () => 1,
    });
    expect(text().length).toBeLessThan(12_000);
    expect(lines[0]).toMatchObject({
      bytes: '[1000 bytes]',
      big: '10',
      at: '1970-01-01T00:00:00.000Z',
      call: '[function]',
    });
  });
});

describe('the log of a process', () => {
  it('is on standard output, whole, when it was flushed before the end', () => {
    const script = `
      import { createLog } from '#runtime/telemetry/log-context.ts';
      import { systemClock } from '#runtime/base/time/clock.ts';
      const log = createLog({ level: 'info', clock: systemClock });
      for (let line = 0; line < 500; line += 1) log.info('line', { line, filler: 'x'.repeat(200) });
      log.flush();
      process.exit(0);
    `;
    const run = spawnSync(process.execPath, ['--input-type=module-typescript', '--eval', script], {
      cwd: join(import.meta.dirname, '..', '..', '..'),
      encoding: 'utf8',
    });
    const lines = run.stdout
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as Line).line);
    expect(run.status).toBe(0);
    expect(lines).toEqual(Array.from({ length: 500 }, (_, index) => index));
  });
});
