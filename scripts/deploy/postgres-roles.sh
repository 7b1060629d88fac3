#!/bin/sh
# Runs once, when PostgreSQL makes its data folder: the user that owns the tables, and the role in which tenants are served.
# Neither is a superuser, so row-level security holds for both.
set -eu

# The password is a variable of psql, which quotes it; `\getenv` keeps it out of the list of processes.
psql --set=ON_ERROR_STOP=1 --username="${POSTGRES_USER:-postgres}" --dbname=postgres <<'SQL'
\getenv password GATEWAY_DATABASE_PASSWORD
create role gateway login password :'password';
create role agent_gateway_app nologin;
grant agent_gateway_app to gateway;
create database gateway owner gateway;
SQL
