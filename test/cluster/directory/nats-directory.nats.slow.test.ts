import { describe, expect, it } from 'vitest';
import { registryTimes } from '#cluster/directory/member-registry.ts';
import { directoryConformance } from '#test/runtime/directory/directory-conformance.ts';
import { sharedNatsCluster } from '#test/support/nats-cluster.ts';
import { type DirectoryMember, NatsDirectories } from '#test/support/nats-directories.ts';

const PARTITIONS = 8;
const nats = sharedNatsCluster(3);

/** The servers, another one first for each member. */
const urlsFor = (index: number) => [...nats().urls.slice(index), ...nats().urls.slice(0, index)];

directoryConformance('of three members over three servers', async () => {
  const cluster = new NatsDirectories(PARTITIONS);
  const members: DirectoryMember[] = [];
  for (const [index, id] of ['a', 'b', 'c'].entries()) members.push(await cluster.join(id, urlsFor(index)));
  for (let partition = 0; partition < PARTITIONS; partition++)
    members[partition % 3]?.registry.claim(partition, partition + 1);
  for (const member of members) {
    await cluster.until(
      member,
      (directory) =>
        directory.members().length === 3 &&
        Array.from({ length: PARTITIONS }, (_, each) => directory.ownerOf(each)).every(Boolean),
    );
  }
  return { directories: members.map(({ directory }) => directory), close: () => cluster.close() };
});

describe('members over three servers', () => {
  it('hear each other again, and forget no member, when a server dies and comes back', async () => {
    const cluster = new NatsDirectories(PARTITIONS);
    const members: DirectoryMember[] = [];
    for (const [index, id] of ['a', 'b', 'c'].entries()) members.push(await cluster.join(id, urlsFor(index)));
    const allHeard = () =>
      Promise.all(
        members.map((member) =>
          cluster.until(member, (directory) => {
            const heard = directory.members().filter(({ isSuspect }) => !isSuspect);
            return heard.length === 3;
          }),
        ),
      );
    await allHeard();
    for (const server of nats().servers) {
      await server.kill();
      // Longer than it takes to suspect who is not heard.
      await new Promise((resolve) => setTimeout(resolve, registryTimes.suspectMs + 1_500));
      await allHeard();
      server.start();
      // Heartbeats need no JetStream.
      while (!(await server.accepts())) await new Promise((resolve) => setTimeout(resolve, 50));
      await allHeard();
    }
    for (const { heard } of members) expect(heard.filter((each) => each.startsWith('-'))).toEqual([]);
    await cluster.close();
  });
});
