/** The families of databases that the gateway runs on. MariaDB is of the family `mysql`. */
export type Family = 'sqlite' | 'postgres' | 'mysql';
