import fc from 'fast-check';
import { commitNumber } from './commit-number.ts';

// Properties that choose no seed of their own have that of the commit: a failure repeats, and the next commit has others.
if (process.env.WORKLOADS === 'part') {
  const seed = commitNumber();
  if (seed !== undefined) fc.configureGlobal({ ...fc.readConfigureGlobal(), seed });
}
