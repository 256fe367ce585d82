import { configFileVariable, defaultConfigFile, type OptionEntry, optionEntries } from './options.ts';

/** Widest line of the help text, in characters: fits a standard terminal. */
const columns = 100;

/** The output of `--help`: every option with its variable, its key in the file, type, default and description. */
export function helpText(): string {
  const lines = [
    'Usage: npm start',
    '',
    ...wrap(
      `Options come from environment variables, then from a TOML file (${configFileVariable}, else ${defaultConfigFile} if it exists), then from defaults.`,
      '',
    ),
  ];
  for (const entry of optionEntries) lines.push('', ...describe(entry));
  return `${lines.join('\n')}\n`;
}

function describe({ fileSection, fileKey, option }: OptionEntry): string[] {
  const inFile = option.isEnvironmentOnly ? [] : [`[${fileSection}] ${fileKey}`];
  const names = [...(option.environment === undefined ? [] : [option.environment]), ...inFile];
  const unit = option.unit === undefined ? '' : ` (${option.unit})`;
  return [
    names.join('   '),
    ...wrap(`${option.type}${unit}; default: ${option.defaultText}`.replaceAll('`', ''), '    '),
    ...wrap(option.description.replaceAll('`', ''), '    '),
  ];
}

function wrap(text: string, indent: string): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && indent.length + line.length + 1 + word.length > columns) {
      lines.push(indent + line);
      line = word;
    } else {
      line = line === '' ? word : `${line} ${word}`;
    }
  }
  return [...lines, indent + line];
}
