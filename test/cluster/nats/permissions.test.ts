import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { memberPermissions } from '#cluster/nats/permissions.ts';
import { Subjects } from '#cluster/nats/subjects.ts';
import { projectRoot } from '#test/tidy/source-file.ts';

const subjects = new Subjects();
const { publish, subscribe } = memberPermissions(subjects, 'm1');

/** Whether a pattern of NATS takes everything another one takes. */
function covers(pattern: string, subject: string): boolean {
  const [wide, narrow] = [pattern.split('.'), subject.split('.')];
  for (const [at, token] of wide.entries()) {
    if (token === '>') return at < narrow.length;
    const found = narrow[at];
    if (found === undefined || found === '>' || (token !== '*' && token !== found)) return false;
  }
  return wide.length === narrow.length;
}

const may = (some: readonly string[], subject: string): boolean =>
  some.some((pattern) => covers(pattern, subject));

/** What members tell each other; the scenario of a closed cluster shows that nothing is missing. */
const toAll = [
  subjects.heartbeats,
  subjects.positions,
  subjects.replicaStatus,
  subjects.logins,
  subjects.events(3),
  subjects.flushes(3),
  subjects.flushQuestions(3),
  subjects.cancelledJobs,
  subjects.snapshotRequests,
  subjects.storedPositions,
];

describe('what the user of a member may do', () => {
  it('is to subscribe to its own subjects and those for all', () => {
    for (const subject of [...toAll, subjects.calls('m1'), `${subjects.member('m1')}.x.1`, '_INBOX.m1.x.1'])
      expect([subject, may(subscribe, subject)]).toEqual([subject, true]);
  });

  it('is not to subscribe to subjects of others, nor to everything', () => {
    const others = [subjects.calls('m2'), `${subjects.member('m2')}.x.1`, '_INBOX.m2.x.1', '_INBOX.m11.x.1'];
    const wide = ['>', '*', '_INBOX.>', subjects.allCalls, subjects.allLogs, '$SYS.>', '$JS.>', '$JS.API.>'];
    for (const subject of [...others, ...wide, subjects.log(0), subjects.jobTickets])
      expect([subject, may(subscribe, subject)]).toEqual([subject, false]);
  });

  it('is to publish to all of those, write logs, and use JetStream as a member requires', () => {
    const asked = [
      `$JS.API.STREAM.INFO.${subjects.logStream(0)}`,
      `$JS.API.STREAM.MSG.GET.${subjects.logStream(0)}`,
      `$JS.API.CONSUMER.CREATE.${subjects.logStream(0)}.x`,
      `$JS.ACK.${subjects.jobStream}.workers.1.2.3.4.5`,
      `$O.${subjects.snapshotBucket}.C.x`,
    ];
    for (const subject of [...toAll, subjects.log(255), subjects.calls('m2'), '_INBOX.m2.x.1', ...asked])
      expect([subject, may(publish, subject)]).toEqual([subject, true]);
  });

  it('is not to remove, restore or change what an operator alone does', () => {
    const refused = [
      `$JS.API.STREAM.DELETE.${subjects.logStream(0)}`,
      `$JS.API.STREAM.UPDATE.${subjects.logStream(0)}`,
      `$JS.API.STREAM.MSG.DELETE.${subjects.logStream(0)}`,
      `$JS.API.STREAM.RESTORE.${subjects.logStream(0)}`,
      '$JS.API.SERVER.REMOVE',
      '$JS.API.ACCOUNT.PURGE.GROVE',
      '$SYS.REQ.SERVER.PING',
    ];
    for (const subject of refused) expect([subject, may(publish, subject)]).toEqual([subject, false]);
  });
});

describe('npm run nats-users', () => {
  const run = (...args: readonly string[]) =>
    spawnSync(process.execPath, [join(projectRoot, 'operator/nats-users.ts'), ...args], {
      encoding: 'utf8',
    });

  it('prints a user for each member, with a password of its own and the names of the cluster', () => {
    const { status, stdout } = run('--name', 'other', 'm1', 'm2', 'm1');
    const users = [...stdout.matchAll(/^ {4}user: "(.+)"\n {4}password: "(p[0-9a-f]{48})"$/gm)];
    expect([status, users.map(([, user]) => user)]).toEqual([0, ['m1', 'm2']]);
    expect(new Set(users.map(([, , password]) => password)).size).toBe(2);
    expect(stdout).toContain('"other.call.m2"');
    expect(stdout).not.toContain('"grove.');
  });

  it('says what it wants', () => {
    expect(run()).toMatchObject({ status: 2, stdout: expect.stringContaining('SVC_MEMBER_ID') });
    expect(run('--help').status).toBe(0);
    expect(run('two words')).toMatchObject({
      status: 2,
      stdout: '',
      stderr: expect.stringContaining('printable'),
    });
  });
});
