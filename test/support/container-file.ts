import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '#test/tidy/source-file.ts';

/** An instruction of a container file. */
export interface Instruction {
  /** `COPY`, `RUN` … */
  readonly name: string;
  /** What stands behind it. */
  readonly text: string;
}

/** The instructions of the container file of the project, in order. */
export function containerInstructions(): readonly Instruction[] {
  return readFileSync(join(projectRoot, 'Dockerfile'), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [name = '', ...rest] = line.split(' ');
      return { name, text: rest.join(' ') };
    });
}

/** The instructions with one name. */
export function instructionsNamed(name: string): readonly string[] {
  return containerInstructions().flatMap((each) => (each.name === name ? [each.text] : []));
}

/** The variables the image sets. */
export function containerEnvironment(): Readonly<Record<string, string>> {
  return Object.fromEntries(
    instructionsNamed('ENV')
      .flatMap((text) => text.split(' '))
      .map((variable) => variable.split('=') as [string, string]),
  );
}

/** The words of the command of an instruction, such as `CMD ["node", "main.ts"]`. */
export function commandOf(text: string): readonly string[] {
  return JSON.parse(text.slice(text.indexOf('['))) as readonly string[];
}
