import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findProgram } from '#operator/local-cluster/find-program.ts';

let folder: string;
let program: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'grove-programs-'));
  program = join(folder, 'grove-test-program');
  writeFileSync(program, '#!/bin/sh\n');
  chmodSync(program, 0o755);
  writeFileSync(join(folder, 'not-for-running'), '');
});

afterAll(() => rmSync(folder, { recursive: true }));

const needed = { name: 'grove-test-program', variable: 'GROVE_TEST_PROGRAM', purpose: 'This test runs' };

describe('a program that is needed', () => {
  it('is the one on the PATH', () => {
    expect(findProgram(needed, { PATH: `/nowhere::${folder}` })).toBe(program);
  });

  it('is the one the variable names, before that', () => {
    expect(findProgram(needed, { PATH: folder, GROVE_TEST_PROGRAM: '/bin/sh' })).toBe('/bin/sh');
    expect(findProgram(needed, { PATH: folder, GROVE_TEST_PROGRAM: '' })).toBe(program);
  });

  it('is refused by name when the variable names something that cannot be run', () => {
    for (const path of [join(folder, 'not-for-running'), join(folder, 'gone'), folder])
      expect(() => findProgram(needed, { PATH: folder, GROVE_TEST_PROGRAM: path })).toThrow(
        `GROVE_TEST_PROGRAM names ${path}`,
      );
  });

  it('is reported with what to install when it is not found', () => {
    const absent = { ...needed, name: 'grove-no-such-program', source: 'https://example.org' };
    const message =
      /This test runs grove-no-such-program.*sudo apt install grove-no-such-program.*example\.org.*GROVE_TEST_PROGRAM=/s;
    // Without a package manager on the PATH nothing is installed, whoever runs this.
    expect(() => findProgram(absent, { PATH: folder })).toThrow(message);
  });
});
