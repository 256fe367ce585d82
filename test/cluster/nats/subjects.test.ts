import { describe, expect, it } from 'vitest';
import { InvariantError } from '#runtime/base/assert.ts';
import { Subjects } from '#cluster/nats/subjects.ts';

describe('names in NATS', () => {
  it('keeps clusters with different prefixes apart, in streams, subjects and buckets', () => {
    const all = (subjects: Subjects): string[] => [
      subjects.logStream(7),
      subjects.log(7),
      subjects.calls('m'),
      subjects.member('m'),
      subjects.heartbeats,
      subjects.positions,
      subjects.logins,
      subjects.events(7),
      subjects.jobStream,
      subjects.jobTickets,
      subjects.cancelledJobs,
      subjects.blobBucket,
      subjects.snapshotBucket,
    ];
    const names = [...all(new Subjects('one')), ...all(new Subjects('two'))];
    expect(new Set(names).size).toBe(names.length);
  });

  it.each(['host.example.org:8080', 'a*b', '>', 'a b', 'ä'])('writes member %j as one token', (member) => {
    const token = new Subjects().member(member).slice('grove.member.'.length);
    expect(token).toMatch(/^[^.*>\s]+$/);
    expect(decodeURIComponent(token)).toBe(member);
  });

  it.each(['', 'Grove', 'a.b', 'a*', '1a'])('refuses prefix %j', (prefix) => {
    expect(() => new Subjects(prefix)).toThrow(InvariantError);
  });
});
