import { relative, join } from 'node:path';
import { beforeEach } from 'vitest';
import { leftOut } from './left-out.ts';

const root = join(import.meta.dirname, '../..');

beforeEach((context) => {
  const { file, name } = context.task;
  const path = relative(root, file.filepath);
  const found = leftOut.find((each) => each.file === path && each.test === name);
  if (found !== undefined) context.skip(found.reason);
});
