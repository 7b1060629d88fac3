import { describeConfig, type SettingDescription } from '../../foundation/config/describe-config.ts';
import type { ConfigurablePlugin } from '../../foundation/config/gateway-file-schema.ts';
import { KernelVariables } from '../../foundation/config/kernel-variables.ts';
import type { GeneratedFile } from './generated-file.ts';
import { replaceMarked, tableRow } from './marked-part.ts';

/** The table of all variables in docs/settings.md, between its two markers. */
export function settingsTableFile(plugins: readonly ConfigurablePlugin[]): GeneratedFile {
  const file = 'docs/settings.md';
  return {
    path: file,
    render: (current) => replaceMarked(file, 'settings', current, settingsTable(plugins)),
  };
}

/**
 * The variables of the gateway, then of each plugin. A variable with several readers has one row that names them all.
 * @throws Error when they describe it differently: the row would hold for one of them alone.
 */
export function settingsTable(plugins: readonly ConfigurablePlugin[]): string {
  const rows = new Map<string, { setting: SettingDescription; readers: string[] }>();
  const add = (reader: string, settings: readonly SettingDescription[]) => {
    for (const setting of settings) {
      if (setting.env === undefined) continue;
      const row = rows.get(setting.env);
      if (row === undefined) rows.set(setting.env, { setting, readers: [reader] });
      else if (!row.readers.includes(reader)) row.readers.push(reader);
      if (row !== undefined && !saysTheSame(row.setting, setting))
        throw new Error(`${reader} says of ${setting.env} what another reader does not say`);
    }
  };
  add('gateway', describeConfig(KernelVariables));
  for (const plugin of plugins) {
    if (plugin.config !== undefined) add(`plugin \`${plugin.name}\``, describeConfig(plugin.config));
  }
  const lines = [...rows].map(([variable, { setting, readers }]) =>
    tableRow(`\`${variable}\``, setting.description, defaultCell(setting), readers.join(', ')),
  );
  return [tableRow('Variable', 'Meaning', 'Default', 'Read by'), '|---|---|---|---|', ...lines].join('\n');
}

function saysTheSame(one: SettingDescription, other: SettingDescription): boolean {
  return one.description === other.description && one.default === other.default;
}

function defaultCell({ default: text, hasDefault }: SettingDescription): string {
  return hasDefault ? `\`${text}\`` : text;
}
