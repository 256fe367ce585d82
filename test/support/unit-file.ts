/** A line of a unit file: section, key and value. */
export interface UnitLine {
  readonly section: string;
  readonly key: string;
  readonly value: string;
}

/**
 * The settings of a unit file of systemd, in order.
 *
 * @throws {Error} for a line that is none: systemd would ignore it
 */
export function unitLines(text: string): readonly UnitLine[] {
  let section = '';
  return text.split('\n').flatMap((line): UnitLine[] => {
    if (line === '' || line.startsWith('#')) return [];
    const heading = /^\[(\w+)\]$/.exec(line)?.[1];
    if (heading !== undefined) {
      section = heading;
      return [];
    }
    const setting = /^(\w+)=(.*)$/.exec(line);
    if (setting === null || section === '') throw new Error(`no line of a unit file: ${line}`);
    return [{ section, key: setting[1] as string, value: setting[2] as string }];
  });
}

/** The variables that the lines `Environment=` of a unit give. */
export function unitEnvironment(lines: readonly UnitLine[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    lines
      .filter(({ key }) => key === 'Environment')
      .flatMap(({ value }) => value.split(' '))
      .map((variable) => variable.split('=') as [string, string]),
  );
}
