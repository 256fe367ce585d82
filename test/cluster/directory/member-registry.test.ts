import { describe, expect, it } from 'vitest';
import { MEMBERS_MAX } from '#cluster/directory/member-registry.ts';
import { HeardMembers } from '#test/support/heard-members.ts';

const ids = Array.from({ length: MEMBERS_MAX }, (_, index) => `m${index}`);

describe('more members than there may be', () => {
  it('are told of by all, and the one that came last knows that it is meant', () => {
    const heard = new HeardMembers(4, ...ids);
    heard.pass(12);
    for (const id of ids) expect(heard.registry(id).surplus).toBeUndefined();
    // A name that sorts before the others: who came last is not a matter of names.
    heard.add('a-late-one');
    heard.pass(2);
    for (const id of [...ids, 'a-late-one']) expect(heard.registry(id).surplus).toBe('a-late-one');
    for (const id of ids) expect(heard.directory(id).members()).toHaveLength(MEMBERS_MAX);
  });

  it('are no more when it is gone, and a silent member makes room', () => {
    const heard = new HeardMembers(4, ...ids);
    heard.pass(12);
    heard.add('late');
    heard.pass(2);
    heard.cut('late');
    heard.pass(62);
    expect(heard.registry('m0').surplus).toBeUndefined();
    heard.cut('m1');
    heard.pass(6);
    heard.add('another');
    heard.pass(2);
    for (const id of ['m0', 'another']) expect(heard.registry(id).surplus).toBeUndefined();
    expect(
      heard
        .directory('m0')
        .members()
        .map(({ id }) => id),
    ).toContain('another');
  });
});
