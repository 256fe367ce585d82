import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take minutes. Begun last, one of them would run alone at the end. */
const longest = ['guards.slow', 'commit-loop.sim.slow', 'engine-crash.slow'];

/** Runs the longest files first, also where no earlier run told how long they take. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLongest = ({ moduleId }: TestSpecification): boolean =>
      longest.some((name) => moduleId.includes(name));
    const sorted = await super.sort(files);
    return [...sorted.filter(isLongest), ...sorted.filter((file) => !isLongest(file))];
  }
}
