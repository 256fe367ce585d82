import { describe, expect, it } from 'vitest';
import { Readiness } from '#server/status/readiness.ts';
import { HeardMembers } from '#test/support/heard-members.ts';

/** Two members, the first of which owns everything. */
function twoMembers() {
  const members = new HeardMembers(3, 'a', 'b');
  members.pass(5);
  for (const partition of [0, 1, 2]) members.registry('a').claim(partition, 1);
  let isConnected = true;
  const troubles = new Map<number, string>();
  const readiness = new Readiness({
    directory: members.directory('b'),
    duplicates: () => members.registry('b').duplicates,
    isConnected: () => isConnected,
    isContained: () => false,
    troubleOf: (partition) => troubles.get(partition),
  });
  return {
    members,
    troubles,
    messages: () => readiness.missing().map(({ message }) => message),
    parts: () => readiness.missing().map(({ part, partitions }) => [part, ...partitions]),
    connect: (value: boolean) => {
      isConnected = value;
    },
  };
}

describe('the readiness of a member', () => {
  it('waits for the owners, then for the logs it follows, in this order', () => {
    const { members, parts } = twoMembers();
    expect(parts()).toEqual([['owners', 0, 1, 2]]);
    members.pass(1);
    expect(parts()).toEqual([['followers', 0, 1, 2]]);
    members.registry('b').setWarm([0, 2]);
    expect(parts()).toEqual([['followers', 1]]);
    members.registry('b').setWarm([0, 1, 2]);
    expect(parts()).toEqual([]);
  });

  it('is not ready while another process runs under its name; that others have one name is not its own matter', () => {
    const { members, messages, parts } = twoMembers();
    members.pass(1);
    members.registry('b').setWarm([0, 1, 2]);
    expect(parts()).toEqual([]);
    members.addTwin('a');
    members.pass(5);
    expect(members.registry('b').duplicates).toHaveLength(1);
    expect(parts()).toEqual([]);
    members.addTwin('b');
    members.pass(5);
    expect(parts()).toEqual([['name']]);
    expect(messages()[0]).toContain('two processes run as b');
  });

  it('reports why a partition has no owner, if that is known', () => {
    const { messages, troubles } = twoMembers();
    expect(messages()).toEqual(['The owners are not known yet']);
    troubles.set(1, 'too few members');
    expect(messages()).toEqual(['The owners are not known yet; partition 1: too few members']);
  });

  it('does not wait for the log of a partition it owns', () => {
    const { members, parts } = twoMembers();
    members.pass(1);
    members.registry('b').setWarm([0, 1]);
    members.registry('b').claim(2, 2);
    expect(parts()).toEqual([]);
  });

  it('is not lost when an owner is lost: no other member knows one either', () => {
    const { members, parts } = twoMembers();
    members.pass(1);
    members.registry('b').setWarm([0, 1, 2]);
    expect(parts()).toEqual([]);
    members.registry('a').stop();
    members.registry('b').setWarm([]);
    members.pass(10);
    expect(members.directory('b').ownerOf(0)).toBeUndefined();
    expect(parts()).toEqual([]);
  });

  it('is lost and found with the connection', () => {
    const { members, connect, parts } = twoMembers();
    members.pass(1);
    members.registry('b').setWarm([0, 1, 2]);
    connect(false);
    expect(parts()).toEqual([['nats']]);
    connect(true);
    expect(parts()).toEqual([]);
  });
});
