/** The least workloads a property, or seeds a simulation, is tried with. */
const LEAST = 4;

/**
 * Number of workloads a property is tried with, or of seeds a simulation is: all of them in the slow suite, a quarter in
 * the suites for every change, and four times as many with `WORKLOADS=many`.
 *
 * @param all the number of the slow suite
 */
export function workloadCount(all: number): number {
  if (process.env.WORKLOADS === 'many') return 4 * all;
  return process.env.WORKLOADS === 'all' ? all : Math.max(LEAST, Math.ceil(all / 4));
}
