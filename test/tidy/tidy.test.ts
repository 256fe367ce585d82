import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { crashPointNames } from '#runtime/commit/crash-point.ts';
import { optionEntries } from '#runtime/config/options.ts';
import { checkBans, checkDocstrings, checkFileLengths, checkFileNames, checkWords } from './code-rules.ts';
import {
  checkCrashPointsPlaced,
  checkDecisionNumbers,
  checkDependencyPage,
  checkForeignDocuments,
  checkOptionsUsed,
  checkPageLinks,
} from './document-rules.ts';
import {
  checkBarrels,
  checkCycles,
  checkDirection,
  checkDoors,
  checkFileCycles,
  checkSpelling,
  type Manifest,
} from './import-rules.ts';
import { formatViolations, listFiles, projectRoot, readSources } from './source-file.ts';

const sources = readSources();
const written = listFiles(projectRoot, (name) =>
  /\.(?:ts|js|md|json|toml|ya?ml|html|css|sh|conf|cfg)$|^Procfile$|^LICENSE$/.test(name),
)
  .filter((path) => path !== 'package-lock.json')
  .map((path) => ({ path, text: readFileSync(join(projectRoot, path), 'utf8') }));
const manifest = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')) as Manifest;

describe('the code of this project', () => {
  it('is found', () => {
    expect(sources.map(({ path }) => path)).toContain('runtime/errors/error-registry.ts');
    expect(sources.flatMap(({ imports }) => imports).length).toBeGreaterThan(100);
  });

  it('imports in one direction: runtime, actors, protocols, cluster', () => {
    expect(formatViolations(checkDirection(sources))).toBe('');
  });

  it('has no import cycles between second-level folders, types included', () => {
    expect(formatViolations(checkCycles(sources))).toBe('');
  });

  it('has no import cycles between files, types included', () => {
    expect(formatViolations(checkFileCycles(sources))).toBe('');
  });

  it('shows every crossing of a second-level folder by a # import', () => {
    expect(formatViolations(checkSpelling(sources))).toBe('');
  });

  it('imports a name from the file that defines it', () => {
    expect(formatViolations(checkBarrels(sources))).toBe('');
  });

  it('uses each dependency through one door', () => {
    expect(formatViolations(checkDoors(sources, manifest))).toBe('');
  });

  it('takes in time, randomness and timers, and has no bare errors, any, console or silent tests', () => {
    expect(formatViolations(checkBans(sources))).toBe('');
  });

  it('documents every export of the product', () => {
    expect(formatViolations(checkDocstrings(sources))).toBe('');
  });

  it('keeps files short and named in kebab-case', () => {
    expect(formatViolations([...checkFileLengths(sources), ...checkFileNames(sources)])).toBe('');
  });

  it('marks nothing as unfinished', () => {
    const violations = written.flatMap(({ path, text }) => checkWords(path, text));
    expect(formatViolations(violations)).toBe('');
  });

  it('reads every option it offers', () => {
    const names = optionEntries.map(({ name }) => name);
    expect(formatViolations(checkOptionsUsed(sources, names))).toBe('');
  });

  it('passes every crash point it names', () => {
    expect(formatViolations(checkCrashPointsPlaced(sources, crashPointNames))).toBe('');
  });

  it('numbers its decisions one after the other', () => {
    const names = readdirSync(join(projectRoot, 'docs/decisions'));
    expect(formatViolations(checkDecisionNumbers(names))).toBe('');
  });

  it('names pages and headings that are there', () => {
    // The rules' own test makes pages up.
    const files = written.filter(({ path }) => path !== 'test/tidy/rules.test.ts');
    expect(formatViolations(checkPageLinks(files))).toBe('');
  });

  it('cites what a reader can open', () => {
    expect(formatViolations(checkForeignDocuments(written))).toBe('');
  });

  it('says of every dependency what it is for', () => {
    const page = readFileSync(join(projectRoot, 'docs/dependencies.md'), 'utf8');
    expect(formatViolations(checkDependencyPage(manifest, page))).toBe('');
  });
});
