import { expect, it } from 'vitest';
import type { SlowStatement } from '#actors/branch/sql/slow-statements.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { createLog, silentLog } from '#runtime/telemetry/log-context.ts';
import { slowStatementReport } from '#server/engine/observers.ts';

const statement: SlowStatement = {
  durationMs: 1_500,
  workMs: 20,
  rows: 3,
  tenant: 'acme',
  repository: 'site',
  branch: 'main',
  principal: 'identity',
  statement: 'SELECT name FROM goods WHERE path = ?',
  plan: 'PathIndexScan: path=?',
  error: undefined,
};

it('writes a slow statement as one warning [SQL-140]', () => {
  const lines: string[] = [];
  const sink = { write: (line: string): void => void lines.push(line) };
  const log = createLog({ level: 'warn', clock: systemClock, sink });
  const taken = slowStatementReport(log, 1_000);
  expect(taken?.thresholdMs).toBe(1_000);
  taken?.report(statement);
  expect(lines).toHaveLength(1);
  const { error: _, ...facts } = statement;
  expect(JSON.parse(lines[0] as string)).toEqual({
    level: 'warn',
    time: expect.any(String),
    msg: 'slow statement',
    ...facts,
  });
});

it('takes no reports when it is off', () => {
  expect(slowStatementReport(silentLog, 0)).toBeUndefined();
});
