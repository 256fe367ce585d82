import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { actorId } from '#runtime/actor/actor-id.ts';
import type { Directory } from '#runtime/directory/ports.ts';

/** What the suite runs against: the directories of all members of a cluster, which know each other. */
export interface DirectoriesUnderTest {
  readonly directories: readonly Directory[];
  close(): Promise<void>;
}

const name = fc.string({ minLength: 1, maxLength: 20 });

/** What every implementation of the `Directory` promises. */
export function directoryConformance(title: string, open: () => Promise<DirectoriesUnderTest>): void {
  describe(`the directory: ${title}`, () => {
    let cluster: DirectoriesUnderTest;
    let directories: readonly Directory[];

    beforeAll(async () => {
      cluster = await open();
      directories = cluster.directories;
    });

    afterAll(() => cluster.close());

    it('has one partition for all actors of a repository, the same on every member', () => {
      fc.assert(
        fc.property(name, name, name, (tenant, repository, branch) => {
          const actors = [
            actorId(tenant, repository, 'repository'),
            actorId(tenant, repository, 'jobs'),
            actorId(tenant, repository, branch, 'branch'),
            actorId(tenant, repository, branch, 'locks'),
          ];
          const found = directories.flatMap((each) => actors.map((actor) => each.partitionOf(actor)));
          expect(new Set(found).size).toBe(1);
          const own = new Set(directories.map((each) => each.partitionOf(actorId(tenant, 'tenant'))));
          expect(own.size).toBe(1);
          for (const partition of [...found, ...own]) {
            expect(partition).toBeGreaterThanOrEqual(0);
            expect(partition).toBeLessThan((directories[0] as Directory).partitions);
          }
        }),
      );
    });

    it('knows the owner of every partition, and other members as its followers', () => {
      for (const directory of directories) {
        const known = new Map(directory.members().map((member) => [member.id, member]));
        for (let partition = 0; partition < directory.partitions; partition++) {
          const owner = directory.ownerOf(partition);
          expect(owner).toBeDefined();
          expect(known.get(owner?.id as string)?.owned).toContain(partition);
          expect(owner?.url).toBe(known.get(owner?.id as string)?.url);
          expect(owner?.isSelf).toBe(owner?.id === directory.self);
          expect(owner?.epoch).toBeGreaterThan(0);
          const followers = directory.followersOf(partition).map(({ id }) => id);
          expect(new Set([owner?.id, ...followers]).size).toBe(followers.length + 1);
          for (const follower of followers) expect(known.has(follower)).toBe(true);
        }
      }
    });

    it('agrees on the owners on every member', () => {
      const views = directories.map((directory) =>
        Array.from({ length: directory.partitions }, (_, partition) => directory.ownerOf(partition)?.id),
      );
      for (const view of views) expect(view).toEqual(views[0]);
    });

    it('knows every member, itself included, by name', () => {
      const names = directories.map(({ self }) => self).sort();
      for (const directory of directories) {
        const members = directory.members();
        expect(members.map(({ id }) => id)).toEqual(names);
        expect(members.filter(({ isSelf }) => isSelf).map(({ id }) => id)).toEqual([directory.self]);
        for (const member of members) {
          expect(member).toMatchObject({ isSuspect: false, isDraining: false, version: '1.2.3' });
          expect(member.load.openActors).toBeGreaterThanOrEqual(0);
        }
      }
    });

    it('drops listeners that unsubscribe', () => {
      for (const directory of directories) {
        const stop = directory.onChange(() => {
          throw new Error('called after it was ended');
        });
        stop();
        stop();
      }
    });
  });
}
