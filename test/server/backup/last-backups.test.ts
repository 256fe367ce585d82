import { mkdirSync, mkdtempSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { BackupInfo } from '#protocols/rest/management/backup-ports.ts';
import { LastBackups } from '#server/backup/last-backups.ts';
import { TestClock } from '#test/support/test-clock.ts';
import { until } from '#test/support/until.ts';

let folder: string;
let clock: TestClock;
let stored: Map<string, BackupInfo>;
/** Names that were opened, in order. */
let opened: string[];
let last: LastBackups;

const HOUR_S = 3_600;
const START_S = Date.UTC(2026, 0, 1) / 1000;

/** A backup that was finished so many hours after the first day. */
function add(name: string, hour: number, rest: Partial<BackupInfo> = {}): void {
  mkdirSync(join(folder, name));
  utimesSync(join(folder, name), START_S + hour * HOUR_S, START_S + hour * HOUR_S);
  stored.set(name, {
    name,
    state: 'done',
    repository: undefined,
    startedAt: '',
    finishedAt: new Date((START_S + hour * HOUR_S) * 1000).toISOString(),
    version: '1',
    bytes: 1,
    actors: 1,
    signedBy: 'own',
    current: undefined,
    error: undefined,
    ...rest,
  });
}

const shop = { tenant: 'default', name: 'shop' };

/** Hours of the newest of everything and of one repository. */
function hours(): (number | undefined)[] {
  return (['everything', 'repository'] as const).map((scope) => {
    const finishedMs = last.finishedMs?.get(scope);
    return finishedMs === undefined || finishedMs === 0 ? finishedMs : (finishedMs / 1000 - START_S) / HOUR_S;
  });
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'grove-last-backups-'));
  clock = new TestClock();
  stored = new Map();
  opened = [];
  const find = (name: string): Promise<BackupInfo | undefined> => {
    opened.push(name);
    const found = stored.get(name);
    return found === undefined ? Promise.reject(new Error('damaged')) : Promise.resolve(found);
  };
  last = new LastBackups({ folder, find, clock });
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

it('reports when the newest backup of each kind was finished, and opens none twice', async () => {
  add('one', 1);
  add('two', 2);
  add('shop-1', 3, { repository: shop });
  mkdirSync(join(folder, 'damaged'));
  await last.check();
  expect(hours()).toEqual([2, 3]);
  expect(opened.slice().sort()).toEqual(['damaged', 'shop-1', 'two']);
  opened.length = 0;
  add('three', 5);
  await last.check();
  expect([hours(), opened]).toEqual([[5, 3], ['three']]);
});

it('counts neither unfinished backups nor those of another server', async () => {
  add('running', 3, { state: 'running', finishedAt: undefined, signedBy: undefined });
  add('foreign', 4, { signedBy: 'foreign' });
  add('unsigned', 5, { signedBy: 'unsigned' });
  add('own', 1);
  await last.check();
  expect(hours()).toEqual([1, 0]);
});

it('reports that there is none, also without a folder', async () => {
  rmSync(folder, { recursive: true });
  await last.check();
  expect(hours()).toEqual([0, 0]);
});

it('refreshes by itself on request, in the background and not for each request', async () => {
  add('one', 1);
  expect(last.finishedMs).toBeUndefined();
  await until(() => last.finishedMs !== undefined, 'it has looked');
  expect(hours()).toEqual([1, 0]);
  add('two', 2);
  clock.advance(29_999);
  expect(hours()).toEqual([1, 0]);
  clock.advance(1);
  await until(() => last.finishedMs?.get('everything') !== (START_S + HOUR_S) * 1000, 'it has looked again');
  expect(hours()).toEqual([2, 0]);
});
