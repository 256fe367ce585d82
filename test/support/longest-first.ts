import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take minutes. Begun last, one of them would run alone at the end. */
const longest = [
  'guards.slow',
  'engine-crash.slow',
  'snapshots.nats.slow',
  'cluster.nats.slow',
  'cluster-crash.nats.slow',
  'cluster-faults.nats.slow',
  'cluster-rotation.nats.slow',
  'split-log.nats.slow',
  'forwarding.nats.slow',
  'damage-matrix.slow',
  'feed-failover.nats.slow',
  'commit-loop.sim.slow',
  'install.slow',
];

/**
 * Runs the longest files first, also where no earlier run told how long they take; and files that share a process after
 * those with one of their own, as one that is between others would be the only one in its process.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rankOf = ({ moduleId, project }: TestSpecification): number => {
      if (!project.config.isolate) return longest.length + 1;
      const rank = longest.findIndex((name) => moduleId.includes(`/${name}`));
      return rank < 0 ? longest.length : rank;
    };
    return (await super.sort(files)).sort((a, b) => rankOf(a) - rankOf(b));
  }
}
