import { describe, expect, it } from 'vitest';
import { OperatorError } from '#operator/operator-error.ts';
import { hasAlarms, statusPageOf } from '#operator/status-page.ts';
import { colours, plain, statusView } from '#operator/status-view.ts';
import { clusterJson } from '#protocols/rest/management/cluster.ts';
import type { ClusterOverview } from '#protocols/rest/ports.ts';

const overview: ClusterOverview = {
  mode: 'cluster',
  durability: 'replica-disk',
  durabilityReason: 'because '.repeat(40).trim(),
  followersWanted: 2,
  members: [
    {
      id: 'a',
      url: 'http://10.0.0.1:8080',
      version: '1.0.0',
      state: 'ready',
      isSelf: true,
      load: { requestsInFlight: 3, openActors: 120, pendingBytes: 5_000_000 },
    },
    {
      id: 'member-b',
      url: 'http://10.0.0.2:8080',
      version: '1.0.0',
      state: 'suspect',
      isSelf: false,
      load: { requestsInFlight: 0, openActors: 0, pendingBytes: 17 },
    },
  ],
  partitions: [
    {
      partition: 0,
      owner: { member: 'a', epoch: 7 },
      lastSequence: 1234,
      followers: [{ member: 'member-b', isWarm: true, recordsBehind: 12 }],
      quarantine: undefined,
      log: {
        bytes: 3_000_000,
        bytesMax: 4_000_000,
        kept: undefined,
        snapshot: { sequence: 1200, ageMs: 300_000, bytes: 81_000_000, member: 'a' },
      },
    },
    {
      partition: 1,
      owner: undefined,
      lastSequence: undefined,
      followers: [{ member: 'a', isWarm: false, recordsBehind: undefined }],
      quarantine: undefined,
      log: undefined,
    },
  ],
  natsServers: [{ name: 'n1', version: '2.9.10', isReachable: true, syncsAlways: undefined }],
  natsRemarks: [],
  findings: [],
};

/** As it comes over the wire. */
const answerTo = (facts: Partial<ClusterOverview> = {}): unknown =>
  JSON.parse(JSON.stringify(clusterJson({ ...overview, ...facts })));

const shown = (facts: Partial<ClusterOverview> = {}) =>
  statusView(statusPageOf(answerTo(facts)), plain).join('\n');

describe('the state of a cluster in the terminal', () => {
  it('shows members, partitions and NATS servers as tables, with what each has', () => {
    const text = statusView(statusPageOf(answerTo()), plain, true).join('\n');
    expect(text).toMatch(
      /^ {2}a \(asked\) +ready +http:\/\/10\.0\.0\.1:8080 +1\.0\.0 +1 +0 +3 +120 +4\.8 MiB$/m,
    );
    expect(text).toMatch(/^ {2}member-b +suspect .* 0 +1 +0 +0 +17 B$/m);
    expect(text).toMatch(/^ {3}0 +owned +a +7 +1234 +2\.9 MiB +1200, 77\.2 MiB, 5 min ago +member-b 12$/m);
    expect(text).toMatch(/^ {3}1 +unowned +- +\? +\? +\? +- +a catching up$/m);
    expect(text).toMatch(/^ {2}n1 +reachable +2\.9\.10 +not known$/m);
    expect(text).toMatch(/^ {2}ALARM +member-silent: nothing is heard of member-b/m);
  });

  it('shows problems first, and folds healthy partitions into a line', () => {
    const text = shown();
    expect(text.split('\n').slice(0, 2)).toEqual(['Grove cluster, durability replica-disk', 'Warnings']);
    expect(text.indexOf('because')).toBeGreaterThan(text.indexOf('NATS servers'));
    expect(text).toContain('1 of 2 have an owner and followers that are ready');
    expect(text).toMatch(/^ {3}1 +unowned/m);
    expect(text).not.toMatch(/^ {3}0 +owned/m);
  });

  it('keeps columns straight and running text within a line', () => {
    const lines = shown().split('\n');
    const members = lines.slice(lines.indexOf('Members') + 1, lines.indexOf('Partitions') - 1);
    expect(new Set(members.map((line) => line.indexOf('http') >= 0 && line.indexOf('http'))).size).toBe(2);
    for (const line of lines.filter((each) => each.includes('because')))
      expect(line.length).toBeLessThan(111);
  });

  it('reports that everything is healthy', () => {
    const well = {
      followersWanted: 0,
      members: overview.members.slice(0, 1),
      partitions: overview.partitions.slice(0, 1),
    };
    expect(shown(well)).toMatch(/^Everything is well\.$/m);
    expect(hasAlarms(statusPageOf(answerTo(well)))).toBe(false);
    expect(hasAlarms(statusPageOf(answerTo()))).toBe(true);
  });

  it('marks states and warnings with colours where that is wanted, and nowhere else', () => {
    const text = statusView(statusPageOf(answerTo()), colours).join('\n');
    expect(text).toContain('\u001b[32mready  \u001b[0m');
    expect(text).toContain('\u001b[31msuspect\u001b[0m');
    expect(shown()).not.toContain('\u001b');
  });

  it('does not let names of members steer the terminal', () => {
    const [first] = overview.members as [ClusterOverview['members'][number]];
    const text = shown({ members: [{ ...first, id: 'a\u001b[2J\nb' }] });
    expect(text).toContain('a�[2J�b');
  });

  it('is not made of answers that are something else', () => {
    for (const json of [undefined, null, {}, [], { mode: 'cluster' }, { mode: 'cluster', members: [] }])
      expect(() => statusPageOf(json)).toThrow(OperatorError);
  });
});
